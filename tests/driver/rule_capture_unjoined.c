// SPDX-License-Identifier: BSD-3-Clause
// Rule: A forked stream whose work was not joined back makes the end of the capture fail with 904.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_UNJOINED
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUdeviceptr data;
  CUevent fork;
  CUstream other;
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&fork, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(fork, stream));
  OK(cuStreamWaitEvent(other, fork, 0));
  OK(cuMemsetD8Async(data, 1, 1, other));
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_UNJOINED);
  EXPECT(graph == NULL, 1);
  return 0;
}
