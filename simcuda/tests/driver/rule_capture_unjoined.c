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
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&fork, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuEventRecord(fork, stream));
  MUST(cuStreamWaitEvent(other, fork, 0));
  MUST(cuMemsetD8Async(data, 1, 1, other));
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_UNJOINED);
  MUST_BE(graph == NULL, 1);
  return 0;
}
