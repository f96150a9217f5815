// SPDX-License-Identifier: BSD-3-Clause
// Rule: External records and waits act at each launch.
// Source: cuda.h, cuGraphAddEventRecordNode and -WaitNode
#include <pthread.h>

#include "driver_test.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void pass(void *unused) {
  (void)unused;
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  enum { SIZE = 1 << 16, EXTERNAL = 1, WAIT = 6, RECORD = 7 };
  static unsigned char bytes[SIZE];
  CUdeviceptr source, middle, target;
  CUstream stream, before, after;
  CUevent ready, done;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode nodes[3];
  size_t count = 3;
  int type = -1;
  MUST(cuMemAlloc(&source, SIZE));
  MUST(cuMemAlloc(&middle, SIZE));
  MUST(cuMemAlloc(&target, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&before, NON_BLOCKING));
  MUST(cuStreamCreate(&after, NON_BLOCKING));
  MUST(cuEventCreate(&ready, 2));
  MUST(cuEventCreate(&done, 2));
  MUST(cuEventRecord(ready, before));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuStreamWaitEvent(stream, ready, EXTERNAL));
  MUST(cuMemcpyDtoDAsync(middle, source, SIZE, stream));
  MUST(cuEventRecordWithFlags(done, stream, EXTERNAL));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuEventQuery(done));  // it has never been recorded
  MUST(cuGraphGetNodes(graph, nodes, &count));
  MUST_BE(count, 3);
  MUST(cuGraphNodeGetType(nodes[0], &type));
  MUST_BE(type, WAIT);
  MUST(cuGraphNodeGetType(nodes[2], &type));
  MUST_BE(type, RECORD);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int value = 1; value <= 3; ++value) {
    pthread_mutex_lock(&gate);
    MUST(cuLaunchHostFunc(before, pass, NULL));
    MUST(cuMemsetD8Async(source, (unsigned char)value, SIZE, before));
    MUST(cuEventRecord(ready, before));
    MUST(cuGraphLaunch(exec, stream));  // waits for `ready` as it is now
    MUST_BE(cuEventQuery(done), NOT_READY);
    MUST(cuStreamWaitEvent(after, done, 0));
    MUST(cuMemcpyDtoDAsync(target, middle, SIZE, after));
    pthread_mutex_unlock(&gate);
    MUST(cuStreamSynchronize(after));
    MUST(cuMemcpyDtoH(bytes, target, SIZE));
    MUST_BE(bytes[0], value);
    MUST_BE(bytes[SIZE - 1], value);
  }
  MUST(cuEventSynchronize(done));
  MUST(cuEventQuery(done));
  return 0;
}
