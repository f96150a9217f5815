// SPDX-License-Identifier: BSD-3-Clause
// Rule: To destroy a stream with work pending does not wait for the work.
// Source: cuda.h, cuStreamDestroy
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
  MUST(cuStreamDestroy(stream));
  MUST_BE(cuEventQuery(event), NOT_READY);
  open_gate();
  MUST(cuEventSynchronize(event));
  return 0;
}
