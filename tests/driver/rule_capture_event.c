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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(event, stream));
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(cuEventQuery(event), CAPTURED_EVENT);
  EXPECT(cuEventSynchronize(event), CAPTURED_EVENT);
  return 0;
}
