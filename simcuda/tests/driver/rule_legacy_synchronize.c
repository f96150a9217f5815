// SPDX-License-Identifier: BSD-3-Clause
// Rule: To synchronise the legacy stream is to wait for the blocking streams of its context, too.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_GATE;
  CUstream blocking;
  MUST(cuStreamCreate(&blocking, 0));
  HOLD_UP_FOR_A_WHILE(blocking);
  MUST(cuStreamSynchronize(LEGACY));
  FOUND("it waited", cuStreamQuery(blocking) == SUCCESS, 1);
  open_gate();
  MUST(cuStreamSynchronize(blocking));
  return 0;
}
