// SPDX-License-Identifier: BSD-3-Clause
// A stream that waits for a captured event joins the capture, and leaves it when the capture ends.
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamBeginCapture, 10010, CUstream, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuStreamIsCapturing, 10000, CUstream, int *);
  (void)cuStreamIsCapturing, (void)cuStreamEndCapture;
  enum { NONE = 0, ACTIVE = 1, INVALIDATED = 2, GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };
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
  (void)graph, (void)status;
  return 0;
}
