// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory allocated in a capture has one address for all launches; without its free in the
// graph it outlives the launch, and has to be freed before the next.
// Source: cuda.h, cuGraphAddMemAllocNode
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  USE(cuGraphClone, 10000, CUgraph *, CUgraph);
  enum { SIZE = 1 << 16, ALLOCATION = 10, FREE = 11, AUTO_FREE = 1 };
  static unsigned char bytes[SIZE];
  CUdeviceptr scratch = 0, kept = 0, target = 0, outside = 0;
  CUstream stream;
  CUgraph graph = NULL, clone = NULL;
  CUgraphExec exec = NULL, second = NULL;
  CUgraphNode nodes[4];
  size_t count = 4;
  int type = -1;
  OK(cuMemAlloc(&target, SIZE));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAllocAsync(&outside, SIZE, stream));

  // Allocated and freed in the graph.
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuMemAllocAsync(&scratch, SIZE, stream));
  EXPECT(scratch != 0, 1);
  OK(cuMemsetD8Async(scratch, 6, SIZE, stream));
  OK(cuMemcpyDtoDAsync(target, scratch, SIZE, stream));
  OK(cuMemFreeAsync(scratch, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphGetNodes(graph, nodes, &count));
  EXPECT(count, 4);
  OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT(type, ALLOCATION);
  OK(cuGraphNodeGetType(nodes[3], &type));
  EXPECT(type, FREE);
  EXPECT(cuGraphClone(&clone, graph) != SUCCESS, 1);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT(cuGraphInstantiateWithFlags(&second, graph, 0) != SUCCESS, 1);
  for (int i = 0; i < 3; ++i) OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(bytes, target, SIZE));
  EXPECT(bytes[0], 6);
  EXPECT(bytes[SIZE - 1], 6);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));

  // Left to the client to free.
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuMemAllocAsync(&kept, SIZE, stream));
  OK(cuMemsetD8Async(kept, 8, SIZE, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    OK(cuGraphLaunch(exec, stream));
    EXPECT(cuGraphLaunch(exec, stream), INVALID_VALUE);
    OK(cuMemcpyDtoDAsync(target, kept, SIZE, stream));
    OK(cuMemFreeAsync(kept, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(bytes, target, SIZE));
    EXPECT(bytes[0], 8);
    EXPECT(bytes[SIZE - 1], 8);
  }
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphInstantiateWithFlags(&exec, graph, AUTO_FREE));
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemFree(kept));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));

  // Only a graph's memory can be freed in a capture.
  OK(cuStreamBeginCapture(stream, GLOBAL));
  EXPECT(cuMemFreeAsync(outside, stream), INVALID_VALUE);
  cuStreamEndCapture(stream, &graph);
  OK(cuMemFreeAsync(outside, stream));
  OK(cuStreamSynchronize(stream));
  return 0;
}
