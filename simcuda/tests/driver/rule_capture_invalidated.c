// SPDX-License-Identifier: BSD-3-Clause
// Rule: What is given to an invalidated capture is refused with 901, until it is ended.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  MUST_BE(cuMemsetD8Async(data, 1, 1, stream), CAPTURE_INVALIDATED);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  MUST_BE(graph == NULL, 1);
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(cuStreamSynchronize(stream));
  return 0;
}
