// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event that was last recorded in a capture cannot be asked or waited for by the host:
// 907.
// Source: CUDA programming guide, Prohibited and unhandled operations
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
  MUST_BE(cuEventQuery(event), CAPTURED_EVENT);
  MUST_BE(cuEventSynchronize(event), CAPTURED_EVENT);
  return 0;
}
