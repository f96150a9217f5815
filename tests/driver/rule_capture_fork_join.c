// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream that waits for a captured event joins the capture, and leaves it when the capture
// ends.
// Source: CUDA programming guide, Cross-stream dependencies and events
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  CUevent fork, join;
  CUstream other;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&fork, 2));
  OK(cuEventCreate(&join, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(fork, stream));
  OK(cuStreamWaitEvent(other, fork, 0));
  OK(cuStreamIsCapturing(other, &status));
  EXPECT(status, ACTIVE);
  OK(cuEventRecord(join, other));
  OK(cuStreamWaitEvent(stream, join, 0));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamIsCapturing(other, &status));
  EXPECT(status, NONE);
  return 0;
}
