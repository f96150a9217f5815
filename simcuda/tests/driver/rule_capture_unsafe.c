// SPDX-License-Identifier: BSD-3-Clause
// Rule: In a global capture an allocation is refused and ends it; not in a relaxed exchange.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  CUdeviceptr data;
  int mode = RELAXED;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  MUST(cuStreamIsCapturing(stream, &status));
  MUST_BE(status, ACTIVE);
  MUST_BE(cuMemAlloc(&data, 1), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
