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
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamIsCapturing(LEGACY, &status));
  EXPECT(status, NONE);
  OK(cuMemsetD8Async(data, 1, 1, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuStreamEndCapture(stream, &graph));
  return 0;
}
