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
  MUST(cuMemAlloc(&data, 2));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&fork, 2));
  MUST(cuEventCreate(&join, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuEventRecord(fork, stream));
  MUST(cuStreamWaitEvent(other, fork, 0));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(cuMemsetD8Async(data + 1, 1, 1, other));
  MUST(cuEventRecord(join, other));
  MUST(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, &dependencies));
  MUST_BE(dependencies, 1);
  MUST(cuStreamWaitEvent(stream, join, 0));
  MUST(cuStreamGetCaptureInfo(stream, &status, NULL, NULL, NULL, &dependencies));
  MUST_BE(dependencies, 2);
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(graph != NULL, 1);
  return 0;
}
