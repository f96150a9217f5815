// SPDX-License-Identifier: BSD-3-Clause
// Rule: Work on the legacy stream while a blocking stream captures is refused and ends the
// capture.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuMemsetD8Async(data, 1, 1, LEGACY), CAPTURE_IMPLICIT);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  MUST_BE(graph == NULL, 1);
  return 0;
}
