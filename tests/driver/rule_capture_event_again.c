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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(event, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuEventRecord(event, stream));
  OK(cuEventSynchronize(event));
  OK(cuEventQuery(event));
  OK(cuStreamWaitEvent(stream, event, 0));
  return 0;
}
