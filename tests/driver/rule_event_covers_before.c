// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event stands for what was given before its record, and not for what came after.
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
  HOLD_UP(stream);
  OK(cuEventSynchronize(event));
  EXPECT(cuStreamQuery(stream), NOT_READY);
  open_gate();
  OK(cuStreamSynchronize(stream));
  return 0;
}
