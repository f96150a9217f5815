// SPDX-License-Identifier: BSD-3-Clause
// Rule: The legacy stream cannot join a capture by waiting for its event: 906, and the capture
// ends.
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
  FOUND_STATUS("cuStreamWaitEvent", cuStreamWaitEvent(LEGACY, event, 0), CAPTURE_IMPLICIT);
  FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
