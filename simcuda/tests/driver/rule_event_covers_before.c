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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, stream));
  HOLD_UP(stream);
  MUST(cuEventSynchronize(event));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  return 0;
}
