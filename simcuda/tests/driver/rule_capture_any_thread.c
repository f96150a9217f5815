// SPDX-License-Identifier: BSD-3-Clause
// Rule: A relaxed capture may end on another thread.
// Source: cuda.h, cuStreamEndCapture
#include "driver_test.h"

static CUcontext context;

static void *end(void *stream) {
  USE_CAPTURE;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUgraph graph = NULL;
  MUST(cuCtxSetCurrent(context));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(graph != NULL, 1);
  return NULL;
}

int main(void) {
  context = start();
  USE_CAPTURE;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  in_another_thread(end, stream);
  return 0;
}
