// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capture ends on the stream that it began on: 903.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUevent fork;
  CUstream other;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&fork, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuEventRecord(fork, stream));
  MUST(cuStreamWaitEvent(other, fork, 0));
  MUST_BE(cuStreamEndCapture(other, &graph), CAPTURE_UNMATCHED);
  return 0;
}
