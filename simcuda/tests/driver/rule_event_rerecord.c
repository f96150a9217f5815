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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, stream));
  MUST(cuEventSynchronize(event));
  HOLD_UP(stream);
  MUST(cuEventRecord(event, stream));
  MUST_BE(cuEventQuery(event), NOT_READY);
  open_gate();
  MUST(cuEventSynchronize(event));
  MUST(cuEventQuery(event));
  return 0;
}
