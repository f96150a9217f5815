// SPDX-License-Identifier: BSD-3-Clause
// Rule: To destroy an event whose record is pending returns at once, and the work goes on.
// Source: cuda.h, cuEventDestroy
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
  HOLD_UP(stream);
  MUST(cuEventRecord(event, stream));
  MUST(cuEventDestroy(event));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  return 0;
}
