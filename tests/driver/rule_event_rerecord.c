// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event that was recorded again stands for its last record.
// Source: cuda.h, cuEventRecord
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE_GATE;
  CUstream stream;
  CUevent event;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuEventRecord(event, stream));
  OK(cuEventSynchronize(event));
  HOLD_UP(stream);
  OK(cuEventRecord(event, stream));
  EXPECT(cuEventQuery(event), NOT_READY);
  open_gate();
  OK(cuEventSynchronize(event));
  OK(cuEventQuery(event));
  return 0;
}
