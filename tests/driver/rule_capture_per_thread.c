// SPDX-License-Identifier: BSD-3-Clause
// Rule: The per-thread stream can be captured.
// Source: cuda.h, cuStreamBeginCapture
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  int status = NONE;
  OK(cuStreamBeginCapture(PER_THREAD, RELAXED));
  OK(cuStreamIsCapturing(PER_THREAD, &status));
  EXPECT(status, ACTIVE);
  OK(cuStreamEndCapture(PER_THREAD, &graph));
  EXPECT(graph != NULL, 1);
  return 0;
}
