// SPDX-License-Identifier: BSD-3-Clause
// A forked stream whose work was not joined back makes the end of the capture fail with 904.
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
  USE_MEMORY;
  CUdeviceptr data;
  CUevent fork;
  CUstream other;
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&fork, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(fork, stream));
  OK(cuStreamWaitEvent(other, fork, 0));
  OK(cuMemsetD8Async(data, 1, 1, other));
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_UNJOINED);
  EXPECT(graph == NULL, 1);
  (void)graph, (void)status;
  return 0;
}
