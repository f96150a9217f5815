// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event that was recorded in a capture is an ordinary one once it is recorded outside.
// Source: cuda.h, cuEventRecord
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUevent event;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuEventRecord(event, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuEventRecord(event, stream));
  MUST(cuEventSynchronize(event));
  MUST(cuEventQuery(event));
  MUST(cuStreamWaitEvent(stream, event, 0));
  return 0;
}
