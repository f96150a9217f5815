// SPDX-License-Identifier: BSD-3-Clause
// Rule: With the external flag a wait for an event from outside the capture becomes a node of the
// graph.
// Source: cuda.h, cuStreamWaitEvent
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
  OK(cuStreamWaitEvent(stream, event, 1));
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(graph != NULL, 1);
  return 0;
}
