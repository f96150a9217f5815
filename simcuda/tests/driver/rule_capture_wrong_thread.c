// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capture that is not relaxed ends on the thread that began it: 908.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
#include "driver_test.h"

static CUcontext context;

static void *end(void *stream) {
  USE_CAPTURE;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUgraph graph = NULL;
  MUST(cuCtxSetCurrent(context));
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_WRONG_THREAD);
  return NULL;
}

int main(void) {
  context = start();
  USE_CAPTURE;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, THREAD_LOCAL));
  in_another_thread(end, stream);
  return 0;
}
