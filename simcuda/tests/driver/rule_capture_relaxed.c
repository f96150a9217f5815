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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(graph != NULL, 1);
  return 0;
}
