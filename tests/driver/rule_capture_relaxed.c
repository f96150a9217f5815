// SPDX-License-Identifier: BSD-3-Clause
// Rule: In a relaxed capture even an allocation is allowed.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUdeviceptr data;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(graph != NULL, 1);
  return 0;
}
