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
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  EXPECT(cuMemsetD8Async(data, 1, 1, stream), CAPTURE_INVALIDATED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  EXPECT(graph == NULL, 1);
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuStreamSynchronize(stream));
  return 0;
}
