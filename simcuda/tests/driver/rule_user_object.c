// SPDX-License-Identifier: BSD-3-Clause
// Rule: A user object is destroyed once, when neither its callers nor a graph, an executable graph
// or a launch holds it: on the thread that releases it by a call, or ends the graph, else on one of
// the driver's.
// Source: cuda.h, cuUserObjectCreate, which names no thread; to be checked on a GPU
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
  for (int i = 0; i < 600000 && !__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); ++i) usleep(1000);
  MUST_BE(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), 1);
  destroyed = 0;
}

static void expect_alive(void) {
  usleep(20000);
  MUST_BE(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), 0);
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
  MUST_BE(cuUserObjectCreate(&object, &destroyed, destroy, 1, 0), INVALID_VALUE);
  MUST_BE(cuUserObjectCreate(&object, &destroyed, destroy, 0, NO_DESTRUCTOR_SYNC), INVALID_VALUE);

  // Callers' references alone.
  MUST(cuUserObjectCreate(&object, &destroyed, destroy, 2, NO_DESTRUCTOR_SYNC));
  MUST_BE(cuUserObjectRetain(object, 0), INVALID_VALUE);
  MUST(cuUserObjectRetain(object, 1));
  MUST(cuUserObjectRelease(object, 2));
  expect_alive();
  MUST(cuUserObjectRelease(object, 1));
  FOUND("a caller's release: done when it returns", destroyed, 1);
  expect_destroyed();
  FOUND("a caller's release: on another thread", other_thread, 0);

  // A graph's own reference, and one that it releases.
  MUST(cuUserObjectCreate(&object, &destroyed, destroy, 1, NO_DESTRUCTOR_SYNC));
  MUST(cuGraphCreate(&graph, 0));
  MUST_BE(cuGraphRetainUserObject(graph, object, 1, 2), INVALID_VALUE);
  MUST(cuGraphRetainUserObject(graph, object, 2, 0));
  MUST(cuGraphReleaseUserObject(graph, object, 1));
  MUST(cuUserObjectRelease(object, 1));
  expect_alive();
  MUST(cuGraphReleaseUserObject(graph, object, 1));
  expect_destroyed();
  FOUND("a graph's release: on another thread", other_thread, 0);
  MUST(cuGraphDestroy(graph));

  // One moved to a graph, which an executable graph and its launch hold on to.
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuLaunchHostFunc(stream, pass, NULL));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuUserObjectCreate(&object, &destroyed, destroy, 1, NO_DESTRUCTOR_SYNC));
  MUST(cuGraphRetainUserObject(graph, object, 1, MOVE));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));
  expect_alive();
  pthread_mutex_lock(&gate);
  MUST(cuGraphLaunch(exec, stream));
  while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST)) {
    MUST_BE(cuStreamQuery(stream), NOT_READY);
    usleep(1000);
  }
  MUST(cuGraphExecDestroy(exec));
  expect_alive();
  pthread_mutex_unlock(&gate);
  MUST(cuStreamSynchronize(stream));
  expect_destroyed();
  FOUND("after a launch: on another thread", other_thread, 1);

  // An object held only by a graph, or only by an executable graph.
  for (int launched = 0; launched < 2; ++launched) {
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuUserObjectCreate(&object, &destroyed, destroy, 1, NO_DESTRUCTOR_SYNC));
    MUST(cuGraphRetainUserObject(graph, object, 1, MOVE));
    if (launched) MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphDestroy(graph));
    if (launched) {
      expect_alive();
      MUST(cuGraphExecDestroy(exec));
    }
    expect_destroyed();
    FOUND(launched ? "an executable graph's end: on another thread"
                   : "a graph's end: on another thread",
          other_thread, 0);
  }
  return 0;
}
