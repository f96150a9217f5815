// SPDX-License-Identifier: BSD-3-Clause
// Rule: An executable graph that is updated after another graph holds what that graph holds, and
// releases what it held before, once its launches are done; one that is not updated does not.
// Source: assumed, after cuda.core's tests; to be checked on a GPU
#include "driver_test.h"

enum { OBJECTS = 3, UPDATE_FAILED = 910 };

static int destroyed[OBJECTS], started, may_end;

static void destroy(void *mark) { __atomic_store_n((int *)mark, 1, __ATOMIC_SEQ_CST); }

static int is_destroyed(int object) {
  return __atomic_load_n(&destroyed[object], __ATOMIC_SEQ_CST);
}

static void expect_destroyed(int object) {
  while (!is_destroyed(object)) usleep(1000);
}

static void wait_for_end(void *unused) {
  (void)unused;
  __atomic_store_n(&started, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&may_end, __ATOMIC_SEQ_CST)) usleep(1000);
}

static CUgraph graph_of(CUstream stream, int object, int nodes) {
  USE_CAPTURE;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuGraphRetainUserObject, 11030, CUgraph, CUuserObject, unsigned, unsigned);
  enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };
  CUuserObject held;
  CUgraph graph = NULL;
  MUST(cuStreamBeginCapture(stream, RELAXED));
  for (int i = 0; i < nodes; ++i) MUST(cuLaunchHostFunc(stream, wait_for_end, NULL));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuUserObjectCreate(&held, &destroyed[object], destroy, 1, NO_DESTRUCTOR_SYNC));
  MUST(cuGraphRetainUserObject(graph, held, 1, MOVE));
  return graph;
}

int main(void) {
  start();
  USE_STREAMS;
  USE_GRAPHS;
  struct {
    int result;
    CUgraphNode node, from;
  } info;
  USE(cuGraphExecUpdate, 12000, CUgraphExec, CUgraph, void *);
  CUstream stream;
  CUgraphExec exec;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  CUgraph first = graph_of(stream, 0, 1), second = graph_of(stream, 1, 1),
          larger = graph_of(stream, 2, 2);
  MUST(cuGraphInstantiateWithFlags(&exec, first, 0));
  MUST(cuGraphLaunch(exec, stream));
  while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST)) {
    MUST_BE(cuStreamQuery(stream), NOT_READY);
    usleep(1000);
  }
  MUST(cuGraphExecUpdate(exec, second, &info));
  MUST_BE(cuGraphExecUpdate(exec, larger, &info), UPDATE_FAILED);
  MUST(cuGraphDestroy(first));
  MUST(cuGraphDestroy(second));
  MUST(cuGraphDestroy(larger));
  MUST_BE(is_destroyed(0), 0);
  __atomic_store_n(&may_end, 1, __ATOMIC_SEQ_CST);
  MUST(cuStreamSynchronize(stream));
  expect_destroyed(0);
  expect_destroyed(2);
  MUST_BE(is_destroyed(1), 0);
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(is_destroyed(1), 0);
  MUST(cuGraphExecDestroy(exec));
  expect_destroyed(1);
  return 0;
}
