// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capturing stream cannot wait for an event that was never recorded: 905.
// Source: assumed; to be checked on a GPU
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
  FOUND_STATUS("cuStreamWaitEvent", cuStreamWaitEvent(stream, event, 0), SUCCESS);
  FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), SUCCESS);
  return 0;
}
