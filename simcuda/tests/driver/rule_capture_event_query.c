// SPDX-License-Identifier: BSD-3-Clause
// Rule: To ask for a captured event during its capture is refused with 907, and ends the capture.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUevent event;
  int status = NONE;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  for (int blocking = 0; blocking < 2; ++blocking) {
    MUST(cuStreamBeginCapture(stream, RELAXED));
    MUST(cuEventRecord(event, stream));
    if (blocking)
      FOUND_STATUS("cuEventSynchronize", cuEventSynchronize(event), CAPTURED_EVENT);
    else
      FOUND_STATUS("cuEventQuery", cuEventQuery(event), CAPTURED_EVENT);
    MUST(cuStreamIsCapturing(stream, &status));
    FOUND("the capture goes on", status == ACTIVE, 0);
    FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  }
  return 0;
}
