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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, INVALIDATED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
