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
  MUST(cuMemAlloc(&target, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&outside, SIZE, stream));

  // Allocated and freed in the graph.
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemAllocAsync(&scratch, SIZE, stream));
  MUST_BE(scratch != 0, 1);
  MUST(cuMemsetD8Async(scratch, 6, SIZE, stream));
  MUST(cuMemcpyDtoDAsync(target, scratch, SIZE, stream));
  MUST(cuMemFreeAsync(scratch, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphGetNodes(graph, nodes, &count));
  MUST_BE(count, 4);
  MUST(cuGraphNodeGetType(nodes[0], &type));
  MUST_BE(type, ALLOCATION);
  MUST(cuGraphNodeGetType(nodes[3], &type));
  MUST_BE(type, FREE);
  MUST_BE(cuGraphClone(&clone, graph) != SUCCESS, 1);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST_BE(cuGraphInstantiateWithFlags(&second, graph, 0) != SUCCESS, 1);
  for (int i = 0; i < 3; ++i) MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, target, SIZE));
  MUST_BE(bytes[0], 6);
  MUST_BE(bytes[SIZE - 1], 6);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));

  // Left to the client to free.
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemAllocAsync(&kept, SIZE, stream));
  MUST(cuMemsetD8Async(kept, 8, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    MUST(cuGraphLaunch(exec, stream));
    MUST_BE(cuGraphLaunch(exec, stream), INVALID_VALUE);
    MUST(cuMemcpyDtoDAsync(target, kept, SIZE, stream));
    MUST(cuMemFreeAsync(kept, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(bytes, target, SIZE));
    MUST_BE(bytes[0], 8);
    MUST_BE(bytes[SIZE - 1], 8);
  }
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, AUTO_FREE));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFree(kept));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));

  // Only a graph's memory can be freed in a capture.
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST_BE(cuMemFreeAsync(outside, stream), INVALID_VALUE);
  cuStreamEndCapture(stream, &graph);
  MUST(cuMemFreeAsync(outside, stream));
  MUST(cuStreamSynchronize(stream));
  return 0;
}
