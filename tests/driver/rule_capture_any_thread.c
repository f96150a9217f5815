// SPDX-License-Identifier: BSD-3-Clause
// Rule: A relaxed capture may end on another thread.
// Source: cuda.h, cuStreamEndCapture
#include "driver_test.h"

static CUcontext context;

static void *end(void *stream) {
  USE_CAPTURE;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUgraph graph = NULL;
  OK(cuCtxSetCurrent(context));
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(graph != NULL, 1);
  return NULL;
}

int main(void) {
  context = start();
  USE_CAPTURE;
  CUstream stream;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  in_another_thread(end, stream);
  return 0;
}
