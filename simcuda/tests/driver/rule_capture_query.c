// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuStreamQuery on a capturing stream is refused with 900 and invalidates the capture.
// Source: CUDA programming guide, Prohibited and unhandled operations
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  MUST(cuStreamIsCapturing(stream, &status));
  MUST_BE(status, INVALIDATED);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
