// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuCtxSynchronize with a capturing stream in the context is refused with 900 and
// invalidates.
// Source: cuda.h, cuCtxSynchronize
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuCtxSynchronize, 2000, void);
  CUgraph graph = NULL;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuCtxSynchronize(), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
