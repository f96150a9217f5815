// SPDX-License-Identifier: BSD-3-Clause
// Rule: The per-thread stream can be captured.
// Source: cuda.h, cuStreamBeginCapture
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  int status = NONE;
  MUST(cuStreamBeginCapture(PER_THREAD, RELAXED));
  MUST(cuStreamIsCapturing(PER_THREAD, &status));
  MUST_BE(status, ACTIVE);
  MUST(cuStreamEndCapture(PER_THREAD, &graph));
  MUST_BE(graph != NULL, 1);
  return 0;
}
