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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamGetCaptureInfo(stream, &status, &first));
  EXPECT(status, NONE);
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamGetCaptureInfo(stream, &status, &first));
  EXPECT(status, ACTIVE);
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamGetCaptureInfo(stream, &status, &second));
  EXPECT(second != first, 1);
  OK(cuStreamEndCapture(stream, &graph));
  return 0;
}
