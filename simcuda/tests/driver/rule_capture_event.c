// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event that was last recorded in a capture is invalid to ask about, or to wait for, once
// that capture has ended.
// Source: assumed, after an H100; to be checked on a GPU
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
  FOUND_STATUS("cuEventQuery", cuEventQuery(event), INVALID_VALUE);
  FOUND_STATUS("cuEventSynchronize", cuEventSynchronize(event), INVALID_VALUE);
  return 0;
}
