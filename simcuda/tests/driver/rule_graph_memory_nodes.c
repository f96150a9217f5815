// SPDX-License-Identifier: BSD-3-Clause
// Rule: A node allocates memory whose address is known when it is made; nodes after it use it, one
// node of the graph, or of another, or the client frees it; such a graph loses no node and no edge.
// Source: cuda.h, cuGraphAddMemAllocNode and cuGraphAddMemFreeNode; statuses to be checked on a GPU
#include "graphs.h"

enum { SIZE = 1 << 16 };

static unsigned char byte_of(CUdeviceptr address) {
  USE_MEMORY;
  unsigned char byte = 0;
  MUST(cuMemcpyDtoH(&byte, address, 1));
  return byte;
}

int main(void) {
  const CUcontext context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GRAPHS;
  USE_NODES;
  USE_MEMORY_NODES;
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuGraphMemAllocNodeGetParams, 11040, CUgraphNode, Allocation *);
  USE(cuGraphMemFreeNodeGetParams, 11040, CUgraphNode, CUdeviceptr *);
  USE(cuGraphDestroyNode, 10000, CUgraphNode);
  USE(cuGraphRemoveDependencies, 10000, CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
  CUstream stream;
  CUgraph graph, freeing;
  CUgraphExec exec, freeing_exec;
  CUgraphNode node[4], none;
  CUdeviceptr target, told = 0;
  Allocation scratch = allocation_of(SIZE), kept = allocation_of(SIZE), nothing = allocation_of(0);
  Allocation unknown = allocation_of(SIZE), again;
  unknown.pool.type = 9;
  MUST(cuMemAlloc(&target, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));

  // Freed in the graph.
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemAllocNode(&node[0], graph, NULL, 0, &scratch));
  MUST_BE(scratch.address != 0, 1);
  const Fill fill = fill_of(scratch.address, 6, SIZE);
  const Copy copy = copy_of(target, scratch.address, SIZE);
  MUST(cuGraphAddMemsetNode(&node[1], graph, &node[0], 1, &fill, context));
  MUST(cuGraphAddMemcpyNode(&node[2], graph, &node[1], 1, &copy, context));
  MUST(cuGraphAddMemFreeNode(&node[3], graph, &node[2], 1, scratch.address));
  MUST(cuGraphMemAllocNodeGetParams(node[0], &again));
  MUST_BE(again.address == scratch.address && again.size == SIZE, 1);
  MUST(cuGraphMemFreeNodeGetParams(node[3], &told));
  MUST_BE(told == scratch.address, 1);
  MUST_BE(cuGraphMemFreeNodeGetParams(node[0], &told), INVALID_VALUE);
  MUST_BE(cuGraphAddMemFreeNode(&none, graph, NULL, 0, scratch.address), INVALID_VALUE);
  MUST_BE(cuGraphAddMemFreeNode(&none, graph, NULL, 0, target), INVALID_VALUE);
  MUST_BE(cuGraphAddMemFreeNode(&none, graph, NULL, 0, 0), INVALID_VALUE);
  MUST_BE(cuGraphAddMemAllocNode(&none, graph, NULL, 0, &nothing) != SUCCESS, 1);
  MUST_BE(cuGraphAddMemAllocNode(&none, graph, NULL, 0, &unknown) != SUCCESS, 1);
  FOUND_STATUS("destroying a node", cuGraphDestroyNode(node[2]), NOT_SUPPORTED);
  FOUND_STATUS("removing an edge", cuGraphRemoveDependencies(graph, &node[1], &node[2], 1),
               NOT_SUPPORTED);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    MUST(cuMemsetD8Async(target, 0, SIZE, stream));
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    MUST_BE(byte_of(target + SIZE - 1), 6);
  }
  MUST_BE(cuMemFreeAsync(scratch.address, stream), INVALID_VALUE);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));

  // Freed by another graph, and then by the client.
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&freeing, 0));
  MUST(cuGraphAddMemAllocNode(&node[0], graph, NULL, 0, &kept));
  const Fill fill_kept = fill_of(kept.address, 7, SIZE);
  MUST(cuGraphAddMemsetNode(&node[1], graph, &node[0], 1, &fill_kept, context));
  MUST(cuGraphAddMemFreeNode(&node[2], freeing, NULL, 0, kept.address));
  MUST_BE(cuGraphAddMemFreeNode(&none, graph, &node[1], 1, kept.address), INVALID_VALUE);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphInstantiateWithFlags(&freeing_exec, freeing, 0));
  for (int i = 0; i < 4; ++i) {
    MUST(cuGraphLaunch(exec, stream));
    MUST_BE(cuGraphLaunch(exec, stream), INVALID_VALUE);
    MUST(cuMemcpyDtoDAsync(target, kept.address, SIZE, stream));
    if (i % 2)
      MUST(cuGraphLaunch(freeing_exec, stream));
    else
      MUST(cuMemFreeAsync(kept.address, stream));
    MUST(cuStreamSynchronize(stream));
    MUST_BE(byte_of(target), 7);
  }
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphExecDestroy(freeing_exec));
  MUST(cuGraphDestroy(freeing));
  MUST(cuGraphDestroy(graph));
  return 0;
}
