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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&fork, 2));
  MUST(cuEventCreate(&join, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuEventRecord(fork, stream));
  MUST(cuStreamWaitEvent(other, fork, 0));
  MUST(cuStreamIsCapturing(other, &status));
  MUST_BE(status, ACTIVE);
  MUST(cuEventRecord(join, other));
  MUST(cuStreamWaitEvent(stream, join, 0));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuStreamIsCapturing(other, &status));
  MUST_BE(status, NONE);
  return 0;
}
