// SPDX-License-Identifier: BSD-3-Clause
// In a global capture an allocation is refused and ends it; not in a relaxed exchange.
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamBeginCapture, 10010, CUstream, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuStreamIsCapturing, 10000, CUstream, int *);
  (void)cuStreamIsCapturing, (void)cuStreamEndCapture;
  enum { NONE = 0, ACTIVE = 1, INVALIDATED = 2, GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  USE_MEMORY;
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  CUdeviceptr data;
  int mode = RELAXED;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode, GLOBAL);
  OK(cuMemAlloc(&data, 1));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode, RELAXED);
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, ACTIVE);
  EXPECT(cuMemAlloc(&data, 1), CAPTURE_UNSUPPORTED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  (void)graph, (void)status;
  return 0;
}
