// SPDX-License-Identifier: BSD-3-Clause
// With the external flag that wait becomes a node of the graph.
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
  OK(cuStreamWaitEvent(stream, event, 1));
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(graph != NULL, 1);
  (void)graph, (void)status;
  return 0;
}
