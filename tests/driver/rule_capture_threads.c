// SPDX-License-Identifier: BSD-3-Clause
// Rule: Only a relaxed capture may be ended by another thread; what other threads may do meanwhile
// is a matter of both modes.
// Source: cuda.h, cuStreamEndCapture; cuda.h, cuThreadExchangeStreamCaptureMode
#include <pthread.h>

#include "driver_test.h"

enum { GLOBAL_MODE = 0, THREAD_LOCAL_MODE = 1, RELAXED_MODE = 2 };

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
  OK(cuCtxSetCurrent(context));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode, GLOBAL_MODE);
  allocated = cuMemAlloc(&data, 1);
  ended = cuStreamEndCapture(stream, &graph);
  return NULL;
}

static void run_other(int mode) {
  pthread_t thread;
  thread_mode = mode;
  EXPECT(pthread_create(&thread, NULL, other, NULL), 0);
  EXPECT(pthread_join(thread, NULL), 0);
}

int main(void) {
  context = start();
  USE_CAPTURE;
  USE_GRAPHS;
  OK(cuStreamCreate(&stream, NON_BLOCKING));

  OK(cuStreamBeginCapture(stream, GLOBAL));
  run_other(RELAXED);
  EXPECT(allocated, SUCCESS);
  EXPECT(ended, CAPTURE_WRONG_THREAD);
  int status = NONE;
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, ACTIVE);
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphDestroy(graph));

  OK(cuStreamBeginCapture(stream, GLOBAL));
  run_other(THREAD_LOCAL);
  EXPECT(allocated, SUCCESS);
  EXPECT(ended, CAPTURE_WRONG_THREAD);
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphDestroy(graph));

  OK(cuStreamBeginCapture(stream, GLOBAL));
  run_other(GLOBAL);
  EXPECT(allocated, CAPTURE_UNSUPPORTED);
  EXPECT(ended, CAPTURE_WRONG_THREAD);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  EXPECT(graph == NULL, 1);

  OK(cuStreamBeginCapture(stream, THREAD_LOCAL));
  run_other(GLOBAL);
  EXPECT(allocated, SUCCESS);
  EXPECT(ended, CAPTURE_WRONG_THREAD);
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphDestroy(graph));

  OK(cuStreamBeginCapture(stream, RELAXED));
  run_other(GLOBAL);
  EXPECT(allocated, SUCCESS);
  EXPECT(ended, SUCCESS);
  OK(cuGraphDestroy(graph));
  return 0;
}
