// SPDX-License-Identifier: BSD-3-Clause
// Rule: A user object is destroyed once, on a thread of the driver's, when neither its callers nor
// a graph, an executable graph or a launch holds it.
// Source: cuda.h, cuUserObjectCreate
#include <pthread.h>

#include "driver_test.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int started, destroyed, other_thread;
static pthread_t main_thread;

static void pass(void *unused) {
  (void)unused;
  __atomic_store_n(&started, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
}

static void destroy(void *data) {
  other_thread = !pthread_equal(pthread_self(), main_thread);
  __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void expect_destroyed(void) {
  for (int i = 0; i < 5000 && !__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); ++i) usleep(1000);
  EXPECT(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), 1);
  EXPECT(other_thread, 1);
  destroyed = 0;
}

static void expect_alive(void) {
  usleep(20000);
  EXPECT(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), 0);
}

int main(void) {
  start();
  main_thread = pthread_self();
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuUserObjectRetain, 11030, CUuserObject, unsigned);
  USE(cuUserObjectRelease, 11030, CUuserObject, unsigned);
  USE(cuGraphRetainUserObject, 11030, CUgraph, CUuserObject, unsigned, unsigned);
  USE(cuGraphReleaseUserObject, 11030, CUgraph, CUuserObject, unsigned);
  enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };
  CUuserObject object;
  CUgraph graph;
  CUgraphExec exec;
  CUstream stream;
  EXPECT(cuUserObjectCreate(&object, &destroyed, destroy, 1, 0), INVALID_VALUE);
  EXPECT(cuUserObjectCreate(&object, &destroyed, destroy, 0, NO_DESTRUCTOR_SYNC), INVALID_VALUE);

  // Callers' references alone.
  OK(cuUserObjectCreate(&object, &destroyed, destroy, 2, NO_DESTRUCTOR_SYNC));
  EXPECT(cuUserObjectRetain(object, 0), INVALID_VALUE);
  OK(cuUserObjectRetain(object, 1));
  OK(cuUserObjectRelease(object, 2));
  expect_alive();
  OK(cuUserObjectRelease(object, 1));
  expect_destroyed();

  // A graph's own reference, and one that it gives back.
  OK(cuUserObjectCreate(&object, &destroyed, destroy, 1, NO_DESTRUCTOR_SYNC));
  OK(cuGraphCreate(&graph, 0));
  EXPECT(cuGraphRetainUserObject(graph, object, 1, 2), INVALID_VALUE);
  OK(cuGraphRetainUserObject(graph, object, 2, 0));
  OK(cuGraphReleaseUserObject(graph, object, 1));
  OK(cuUserObjectRelease(object, 1));
  expect_alive();
  OK(cuGraphReleaseUserObject(graph, object, 1));
  expect_destroyed();
  OK(cuGraphDestroy(graph));

  // One moved to a graph, which an executable graph and its launch hold on to.
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuLaunchHostFunc(stream, pass, NULL));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuUserObjectCreate(&object, &destroyed, destroy, 1, NO_DESTRUCTOR_SYNC));
  OK(cuGraphRetainUserObject(graph, object, 1, MOVE));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphDestroy(graph));
  expect_alive();
  pthread_mutex_lock(&gate);
  OK(cuGraphLaunch(exec, stream));
  while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST)) {
    EXPECT(cuStreamQuery(stream), NOT_READY);
    usleep(1000);
  }
  OK(cuGraphExecDestroy(exec));
  expect_alive();
  pthread_mutex_unlock(&gate);
  OK(cuStreamSynchronize(stream));
  expect_destroyed();
  return 0;
}
