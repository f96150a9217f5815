// SPDX-License-Identifier: BSD-3-Clause
// Rule: Launches of one executable graph follow each other, in whatever streams.
// Source: cuda.h, cuGraphLaunch
#include <pthread.h>

#include "driver_test.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int running, most, runs;

static void enter(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  if (++running > most) most = running;
  ++runs;
  pthread_mutex_unlock(&mutex);
}

static void leave(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  --running;
  pthread_mutex_unlock(&mutex);
}

int main(void) {
  start();
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuGraphUpload, 11010, CUgraphExec, CUstream);
  enum { STREAMS = 3, LAUNCHES = 30 };
  CUstream streams[STREAMS];
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  for (int i = 0; i < STREAMS; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  MUST(cuStreamBeginCapture(streams[0], GLOBAL));
  MUST(cuLaunchHostFunc(streams[0], enter, NULL));
  MUST(cuLaunchHostFunc(streams[0], leave, NULL));
  MUST(cuStreamEndCapture(streams[0], &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphUpload(exec, streams[1]));
  for (int i = 0; i < LAUNCHES; ++i) MUST(cuGraphLaunch(exec, streams[i % STREAMS]));
  for (int i = 0; i < STREAMS; ++i) MUST(cuStreamSynchronize(streams[i]));
  MUST_BE(runs, LAUNCHES);
  MUST_BE(most, 1);
  MUST_BE(running, 0);
  return 0;
}
