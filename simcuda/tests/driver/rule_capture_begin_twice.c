// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream that captures cannot begin another capture; one that does not cannot end any.
// Source: cuda.h, cuStreamBeginCapture; the statuses are assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  FOUND_STATUS("end of none", cuStreamEndCapture(stream, &graph), ILLEGAL_STATE);
  MUST(cuStreamBeginCapture(stream, RELAXED));
  FOUND_STATUS("second begin", cuStreamBeginCapture(stream, RELAXED), ILLEGAL_STATE);
  FOUND_STATUS("end of the first", cuStreamEndCapture(stream, &graph), SUCCESS);
  return 0;
}
