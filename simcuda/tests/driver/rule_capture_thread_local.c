// SPDX-License-Identifier: BSD-3-Clause
// Rule: While one thread captures in thread-local mode, others may allocate; it may not itself.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode
#include "driver_test.h"

static CUcontext context;

static void *allocate(void *unused) {
  USE_MEMORY;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUdeviceptr data;
  MUST(cuCtxSetCurrent(context));
  MUST(cuMemAlloc(&data, 1));
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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, THREAD_LOCAL));
  in_another_thread(allocate, NULL);
  MUST(cuStreamIsCapturing(stream, &status));
  MUST_BE(status, ACTIVE);
  MUST_BE(cuMemAlloc(&data, 1), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
