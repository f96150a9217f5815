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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuMemAlloc(&data, 1));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, ACTIVE);
  EXPECT(cuMemAlloc(&data, 1), CAPTURE_UNSUPPORTED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
