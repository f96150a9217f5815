// SPDX-License-Identifier: BSD-3-Clause
// Rule: A wait for a captured event after its capture has ended is refused with 907.
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
  MUST(cuEventRecord(event, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  FOUND_STATUS("cuStreamWaitEvent", cuStreamWaitEvent(stream, event, 0), INVALID_VALUE);
  return 0;
}
