// SPDX-License-Identifier: BSD-3-Clause
// A capturing stream cannot wait for an event that was recorded outside: 905.
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
  CUevent event;
  CUstream outside;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&outside, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuEventRecord(event, outside));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuStreamWaitEvent(stream, event, 0), CAPTURE_ISOLATION);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  (void)graph, (void)status;
  return 0;
}
