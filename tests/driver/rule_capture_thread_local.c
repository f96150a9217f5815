// SPDX-License-Identifier: BSD-3-Clause
// Rule: While one thread captures in thread-local mode, others may allocate; it may not itself.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode
#include "driver_test.h"

static CUcontext context;

static void *allocate(void *unused) {
  USE_MEMORY;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUdeviceptr data;
  OK(cuCtxSetCurrent(context));
  OK(cuMemAlloc(&data, 1));
  return unused;
}

int main(void) {
  context = start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUdeviceptr data;
  int status = NONE;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, THREAD_LOCAL));
  in_another_thread(allocate, NULL);
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, ACTIVE);
  EXPECT(cuMemAlloc(&data, 1), CAPTURE_UNSUPPORTED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
