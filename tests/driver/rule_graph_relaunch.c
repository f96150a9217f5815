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
  for (int i = 0; i < STREAMS; ++i) OK(cuStreamCreate(&streams[i], NON_BLOCKING));
  OK(cuStreamBeginCapture(streams[0], GLOBAL));
  OK(cuLaunchHostFunc(streams[0], enter, NULL));
  OK(cuLaunchHostFunc(streams[0], leave, NULL));
  OK(cuStreamEndCapture(streams[0], &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphUpload(exec, streams[1]));
  for (int i = 0; i < LAUNCHES; ++i) OK(cuGraphLaunch(exec, streams[i % STREAMS]));
  for (int i = 0; i < STREAMS; ++i) OK(cuStreamSynchronize(streams[i]));
  EXPECT(runs, LAUNCHES);
  EXPECT(most, 1);
  EXPECT(running, 0);
  return 0;
}
