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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&outside, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuEventRecord(event, outside));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuStreamWaitEvent(stream, event, 0), CAPTURE_ISOLATION);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
