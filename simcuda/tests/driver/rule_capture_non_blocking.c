// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capture of a non-blocking stream leaves the legacy stream alone.
// Source: CUDA programming guide, Prohibited and unhandled operations
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuStreamIsCapturing(LEGACY, &status));
  MUST_BE(status, NONE);
  MUST(cuMemsetD8Async(data, 1, 1, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuStreamEndCapture(stream, &graph));
  return 0;
}
