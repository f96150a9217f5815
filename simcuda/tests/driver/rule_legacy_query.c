// SPDX-License-Identifier: BSD-3-Clause
// Rule: To ask the legacy stream is to ask the blocking streams of its context, too.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_GATE;
  CUstream blocking;
  MUST(cuStreamCreate(&blocking, 0));
  HOLD_UP(blocking);
  FOUND_STATUS("cuStreamQuery of the legacy stream", cuStreamQuery(LEGACY), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(blocking));
  return 0;
}
