// SPDX-License-Identifier: BSD-3-Clause
// Rule: A wait between two streams of one capture adds an edge: what comes next depends on both.
// Source: cuda.h, cuStreamWaitEvent and cuStreamGetCaptureInfo
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE(cuStreamGetCaptureInfo, 11030, CUstream, int *, uint64_t *, CUgraph *, const void **,
      size_t *);
  CUgraph graph = NULL;
  CUstream stream, other;
  CUevent fork, join;
  CUdeviceptr data;
  int status = NONE;
  size_t dependencies = 0;
  OK(cuMemAlloc(&data, 2));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&fork, 2));
  OK(cuEventCreate(&join, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(fork, stream));
  OK(cuStreamWaitEvent(other, fork, 0));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuMemsetD8Async(data + 1, 1, 1, other));
  OK(cuEventRecord(join, other));
  OK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, &dependencies));
  EXPECT(dependencies, 1);
  OK(cuStreamWaitEvent(stream, join, 0));
  OK(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, &dependencies));
  EXPECT(dependencies, 2);
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(graph != NULL, 1);
  return 0;
}
