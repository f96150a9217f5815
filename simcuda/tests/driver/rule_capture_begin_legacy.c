// SPDX-License-Identifier: BSD-3-Clause
// Rule: The legacy stream cannot be captured.
// Source: cuda.h, cuStreamBeginCapture; the status is assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  FOUND_STATUS("stream 1", cuStreamBeginCapture(LEGACY, RELAXED), CAPTURE_UNSUPPORTED);
  FOUND_STATUS("stream 0", cuStreamBeginCapture(NULL, RELAXED), CAPTURE_UNSUPPORTED);
  return 0;
}
