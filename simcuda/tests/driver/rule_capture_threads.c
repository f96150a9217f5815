// SPDX-License-Identifier: BSD-3-Clause
// Rule: Another thread ends only a relaxed capture well: any other is over then, and nothing is
// made of it. What other threads may do meanwhile is a matter of both modes.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode; that a capture is over then: assumed
#include <pthread.h>

#include "driver_test.h"

enum { GLOBAL_MODE = 0, THREAD_LOCAL_MODE = 1, RELAXED_MODE = 2, ACTIVE_CAPTURE = 1 };

static CUcontext context;
static CUstream stream;
static CUgraph graph;
static CUresult ended, allocated;
static int thread_mode;

static void *other(void *unused) {
  (void)unused;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuMemAlloc, 3020, CUdeviceptr *, size_t);
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  CUdeviceptr data = 0;
  int mode = thread_mode;
  MUST(cuCtxSetCurrent(context));
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  MUST_BE(mode, GLOBAL_MODE);
  allocated = cuMemAlloc(&data, 1);
  ended = cuStreamEndCapture(stream, &graph);
  return NULL;
}

static void run_other(int mode) {
  pthread_t thread;
  thread_mode = mode;
  MUST_BE(pthread_create(&thread, NULL, other, NULL), 0);
  MUST_BE(pthread_join(thread, NULL), 0);
}

// Ending it on the wrong thread still ends it.
static void must_be_over(void) {
  USE(cuStreamIsCapturing, 10000, CUstream, int *);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  int status = ACTIVE_CAPTURE;
  MUST_BE(graph == NULL, 1);
  MUST(cuStreamIsCapturing(stream, &status));
  MUST_BE(status, 0);
  MUST_BE(cuStreamEndCapture(stream, &graph), ILLEGAL_STATE);
}

int main(void) {
  context = start();
  USE_CAPTURE;
  USE_GRAPHS;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));

  MUST(cuStreamBeginCapture(stream, GLOBAL));
  run_other(RELAXED);
  MUST_BE(allocated, SUCCESS);
  MUST_BE(ended, CAPTURE_WRONG_THREAD);
  must_be_over();

  MUST(cuStreamBeginCapture(stream, GLOBAL));
  run_other(THREAD_LOCAL);
  MUST_BE(allocated, SUCCESS);
  MUST_BE(ended, CAPTURE_WRONG_THREAD);
  must_be_over();

  MUST(cuStreamBeginCapture(stream, GLOBAL));
  run_other(GLOBAL);
  MUST_BE(allocated, CAPTURE_UNSUPPORTED);
  MUST_BE(ended, CAPTURE_INVALIDATED);
  must_be_over();

  MUST(cuStreamBeginCapture(stream, THREAD_LOCAL));
  run_other(GLOBAL);
  MUST_BE(allocated, SUCCESS);
  MUST_BE(ended, CAPTURE_WRONG_THREAD);
  must_be_over();

  MUST(cuStreamBeginCapture(stream, RELAXED));
  run_other(GLOBAL);
  MUST_BE(allocated, SUCCESS);
  MUST_BE(ended, SUCCESS);
  MUST(cuGraphDestroy(graph));
  return 0;
}
