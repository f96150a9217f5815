// SPDX-License-Identifier: BSD-3-Clause
// Rule: A child graph that is moved instead of copied may have memory of its own: its handle stays
// good, and is of the parent, which alone can be instantiated; it gets no more such memory, goes
// into no other graph and updates none.
// Source: cuda.h, CUgraphChildGraphNodeOwnership
#include "graphs.h"

enum { SIZE = 4096, CHILD = 4, COPIED = 0, MOVED = 1 };

static Node child_of(CUgraph graph, int ownership) {
  return (Node){.type = CHILD, .of.child = {graph, ownership}};
}

int main(void) {
  const CUcontext context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GRAPHS;
  USE_NODES;
  USE_MEMORY_NODES;
  USE(cuGraphAddNode, 12020, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, Node *);
  USE(cuGraphChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph *);
  USE(cuGraphExecUpdate, 12000, CUgraphExec, CUgraph, void *);
  if (!is_since(12090)) {
    printf("skipped: this driver cannot move a child graph\n");
    return 77;
  }
  CUgraph graph, child, other, copied, told = NULL;
  CUgraphExec exec, none;
  CUgraphNode nodes[4], node, inside;
  CUdeviceptr target;
  unsigned char byte = 0;
  struct {
    int result;
    CUgraphNode node, from;
  } info;
  Allocation scratch = allocation_of(SIZE), more = allocation_of(SIZE);
  MUST(cuMemAlloc(&target, SIZE));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&child, 0));
  MUST(cuGraphCreate(&other, 0));
  MUST(cuGraphAddMemAllocNode(&nodes[0], child, NULL, 0, &scratch));
  const Fill fill = fill_of(scratch.address, 6, SIZE);
  const Copy copy = copy_of(target, scratch.address, SIZE);
  MUST(cuGraphAddMemsetNode(&nodes[1], child, &nodes[0], 1, &fill, context));
  MUST(cuGraphAddMemcpyNode(&nodes[2], child, &nodes[1], 1, &copy, context));
  MUST(cuGraphAddMemFreeNode(&nodes[3], child, &nodes[2], 1, scratch.address));

  // A graph with memory of its own cannot be copied.
  Node as_copy = child_of(child, COPIED), moved = child_of(child, MOVED);
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &as_copy) != SUCCESS, 1);
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &moved));
  MUST(cuGraphChildGraphNodeGetGraph(node, &told));
  MUST_BE(told == child, 1);
  MUST_BE(cuGraphDestroy(child) != SUCCESS, 1);
  MUST_BE(cuGraphInstantiateWithFlags(&none, child, 0) != SUCCESS, 1);
  MUST_BE(cuGraphAddNode(&node, other, NULL, 0, &moved) != SUCCESS, 1);
  MUST_BE(cuGraphAddNode(&node, other, NULL, 0, &as_copy) != SUCCESS, 1);
  MUST_BE(cuGraphAddMemAllocNode(&inside, child, NULL, 0, &more) != SUCCESS, 1);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    MUST(cuMemsetD8Async(target, 0, SIZE, LEGACY));
    MUST(cuGraphLaunch(exec, LEGACY));
    MUST(cuMemcpyDtoH(&byte, target + SIZE - 1, 1));
    MUST_BE(byte, 6);
  }
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST_BE(cuGraphGetNodes(child, NULL, &(size_t){0}), INVALID_VALUE);  // it went with its parent

  // One without memory is no other, once it is moved.
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&child, 0));
  MUST(cuGraphAddEmptyNode(&inside, child, NULL, 0));
  MUST(cuGraphInstantiateWithFlags(&exec, child, 0));
  MUST(cuGraphExecUpdate(exec, child, &info));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphAddEmptyNode(&inside, other, NULL, 0));
  MUST(cuGraphInstantiateWithFlags(&exec, other, 0));
  moved = child_of(child, MOVED);
  as_copy = child_of(child, COPIED);
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &moved));
  MUST_BE(cuGraphInstantiateWithFlags(&none, child, 0) != SUCCESS, 1);
  MUST_BE(cuGraphExecUpdate(exec, child, &info) != SUCCESS, 1);
  MUST_BE(cuGraphAddNode(&node, other, NULL, 0, &as_copy) != SUCCESS, 1);
  MUST_BE(cuGraphAddMemAllocNode(&inside, child, NULL, 0, &more) != SUCCESS, 1);
  // Nor does a copy in a node get memory of its own.
  as_copy = child_of(other, COPIED);
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &as_copy));
  MUST(cuGraphChildGraphNodeGetGraph(node, &copied));
  MUST_BE(cuGraphAddMemAllocNode(&inside, copied, NULL, 0, &more) != SUCCESS, 1);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(other));
  MUST(cuGraphDestroy(graph));
  return 0;
}
