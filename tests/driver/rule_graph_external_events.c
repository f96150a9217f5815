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
  OK(cuMemAlloc(&source, SIZE));
  OK(cuMemAlloc(&middle, SIZE));
  OK(cuMemAlloc(&target, SIZE));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&before, NON_BLOCKING));
  OK(cuStreamCreate(&after, NON_BLOCKING));
  OK(cuEventCreate(&ready, 2));
  OK(cuEventCreate(&done, 2));
  OK(cuEventRecord(ready, before));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuStreamWaitEvent(stream, ready, EXTERNAL));
  OK(cuMemcpyDtoDAsync(middle, source, SIZE, stream));
  OK(cuEventRecordWithFlags(done, stream, EXTERNAL));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuEventQuery(done));  // it has never been recorded
  OK(cuGraphGetNodes(graph, nodes, &count));
  EXPECT(count, 3);
  OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT(type, WAIT);
  OK(cuGraphNodeGetType(nodes[2], &type));
  EXPECT(type, RECORD);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int value = 1; value <= 3; ++value) {
    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(before, pass, NULL));
    OK(cuMemsetD8Async(source, (unsigned char)value, SIZE, before));
    OK(cuEventRecord(ready, before));
    OK(cuGraphLaunch(exec, stream));  // waits for `ready` as it is now
    EXPECT(cuEventQuery(done), NOT_READY);
    OK(cuStreamWaitEvent(after, done, 0));
    OK(cuMemcpyDtoDAsync(target, middle, SIZE, after));
    pthread_mutex_unlock(&gate);
    OK(cuStreamSynchronize(after));
    OK(cuMemcpyDtoH(bytes, target, SIZE));
    EXPECT(bytes[0], value);
    EXPECT(bytes[SIZE - 1], value);
  }
  OK(cuEventSynchronize(done));
  OK(cuEventQuery(done));
  return 0;
}
