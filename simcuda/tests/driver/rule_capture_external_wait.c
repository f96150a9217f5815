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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&outside, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, outside));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuStreamWaitEvent(stream, event, 1));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(graph != NULL, 1);
  return 0;
}
