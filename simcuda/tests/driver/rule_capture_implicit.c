// SPDX-License-Identifier: BSD-3-Clause
// Rule: While a blocking stream captures, a probe of the legacy stream says 906 and harms nothing.
// Source: cuda.h, cuStreamIsCapturing; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  FOUND_STATUS("probe of stream 1", cuStreamIsCapturing(LEGACY, &status), CAPTURE_IMPLICIT);
  FOUND_STATUS("probe of stream 0", cuStreamIsCapturing(NULL, &status), CAPTURE_IMPLICIT);
  MUST(cuStreamIsCapturing(stream, &status));
  FOUND("the capture goes on", status == ACTIVE, 1);
  FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), SUCCESS);
  FOUND_STATUS("probe afterwards", cuStreamIsCapturing(LEGACY, &status), SUCCESS);
  return 0;
}
