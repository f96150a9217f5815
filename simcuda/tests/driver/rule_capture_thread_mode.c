// SPDX-License-Identifier: BSD-3-Clause
// Rule: A thread in thread-local mode may allocate while another thread captures in global mode.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode
#include "driver_test.h"

static CUcontext context;

static void *allocate(void *unused) {
  enum { THREAD_LOCAL_MODE = 1 };
  USE_MEMORY;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  CUdeviceptr data;
  int mode = THREAD_LOCAL_MODE;
  MUST(cuCtxSetCurrent(context));
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  MUST(cuMemAlloc(&data, 1));
  return unused;
}

int main(void) {
  context = start();
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  in_another_thread(allocate, NULL);
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(graph != NULL, 1);
  return 0;
}
