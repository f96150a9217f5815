// SPDX-License-Identifier: BSD-3-Clause
// Rule: Each capture has an id of its own, told while it is active.
// Source: cuda.h, cuStreamGetCaptureInfo
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuStreamGetCaptureInfo, 10010, CUstream, int *, uint64_t *);
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  uint64_t first = 0, second = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamGetCaptureInfo(stream, &status, &first));
  MUST_BE(status, NONE);
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuStreamGetCaptureInfo(stream, &status, &first));
  MUST_BE(status, ACTIVE);
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuStreamGetCaptureInfo(stream, &status, &second));
  MUST_BE(second != first, 1);
  MUST(cuStreamEndCapture(stream, &graph));
  return 0;
}
