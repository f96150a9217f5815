// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capturing stream cannot wait for an event that was recorded outside: 905.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_ISOLATION
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUevent event;
  CUstream outside;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&outside, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, outside));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuStreamWaitEvent(stream, event, 0), CAPTURE_ISOLATION);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
