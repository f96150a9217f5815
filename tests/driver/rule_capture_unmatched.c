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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&fork, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(fork, stream));
  OK(cuStreamWaitEvent(other, fork, 0));
  EXPECT(cuStreamEndCapture(other, &graph), CAPTURE_UNMATCHED);
  return 0;
}
