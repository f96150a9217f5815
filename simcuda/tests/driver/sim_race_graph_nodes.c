// SPDX-License-Identifier: BSD-3-Clause
// Nodes that allocate and free memory, and nodes that were told to do something else: what is
// compared is what each launch does.
#include "graphs.h"
#include "race_test.h"

enum { SIZE = 4096 };

static CUdeviceptr data, other;
static CUcontext context;
static CUstream a, b;

static void wait_for(CUstream stream, CUstream before) {
  USE_EVENTS;
  CUevent event;
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, before));
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuEventDestroy(event));
}

// Memory is used after the node that allocates it, and before the one that frees it.
static void check_memory(void) {
  USE_GRAPHS;
  USE_NODES;
  USE_MEMORY_NODES;
  static const struct {
    int after_allocation, before_free, races;
  } cases[] = {{1, 1, 0}, {0, 1, 1}, {1, 0, 1}};
  for (int i = 0; i < 3; ++i) {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[3], before_free[2];
    Allocation allocation = allocation_of(SIZE);
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &allocation));
    const Fill fill = fill_of(allocation.address, 1, SIZE);
    MUST(cuGraphAddMemsetNode(&nodes[1], graph, nodes, cases[i].after_allocation ? 1 : 0, &fill,
                              context));
    before_free[0] = nodes[0];
    before_free[1] = nodes[1];
    MUST(cuGraphAddMemFreeNode(&nodes[2], graph, before_free, cases[i].before_free ? 2 : 1,
                               allocation.address));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    RACES(cases[i].races, MUST(cuGraphLaunch(exec, a)););
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
  }
}

// Memory that a launch leaves is used after it, and before it is freed by a graph or a stream.
static void check_kept(void) {
  USE_MEMORY;
  USE_GRAPHS;
  USE_MEMORY_NODES;
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUgraph graph, freeing;
  CUgraphExec exec, freeing_exec;
  CUgraphNode node;
  Allocation allocation = allocation_of(SIZE);
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&freeing, 0));
  MUST(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &allocation));
  MUST(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, allocation.address));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphInstantiateWithFlags(&freeing_exec, freeing, 0));
  const CUdeviceptr kept = allocation.address;
  RACES(0, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuMemsetD8Async(kept, 1, SIZE, b));
        wait_for(a, b); MUST(cuGraphLaunch(freeing_exec, a)););
  RACES(1, MUST(cuGraphLaunch(exec, a)); MUST(cuMemsetD8Async(kept, 1, SIZE, b)); wait_for(a, b);
        MUST(cuGraphLaunch(freeing_exec, a)););
  RACES(1, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuMemsetD8Async(kept, 1, SIZE, b));
        MUST(cuGraphLaunch(freeing_exec, a)););
  RACES(1, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuMemsetD8Async(kept, 1, SIZE, b));
        MUST(cuMemFreeAsync(kept, a)););
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphExecDestroy(freeing_exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuGraphDestroy(freeing));
}

static void check_changed(void) {
  USE_MEMORY;
  USE_GRAPHS;
  USE_NODES;
  USE(cuGraphExecMemsetNodeSetParams, 10020, CUgraphExec, CUgraphNode, const Fill *, CUcontext);
  USE(cuGraphMemsetNodeSetParams, 10000, CUgraphNode, const Fill *);
  USE(cuGraphNodeSetEnabled, 11060, CUgraphExec, CUgraphNode, unsigned);
  USE(cuGraphChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph *);
  CUgraph graph, parent, child;
  CUgraphExec exec, parent_exec;
  CUgraphNode node, child_node;
  size_t count = 1;
  const Fill first = fill_of(data, 1, SIZE), second = fill_of(other, 1, SIZE);
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &first, NULL));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  RACES(1, MUST(cuMemsetD8Async(data, 2, SIZE, b)); MUST(cuGraphLaunch(exec, a)););
  RACES(0, MUST(cuMemsetD8Async(other, 2, SIZE, b)); MUST(cuGraphLaunch(exec, a)););
  MUST(cuGraphExecMemsetNodeSetParams(exec, node, &second, NULL));
  RACES(0, MUST(cuMemsetD8Async(data, 2, SIZE, b)); MUST(cuGraphLaunch(exec, a)););
  RACES(1, MUST(cuMemsetD8Async(other, 2, SIZE, b)); MUST(cuGraphLaunch(exec, a)););
  MUST(cuGraphNodeSetEnabled(exec, node, 0));
  RACES(0, MUST(cuMemsetD8Async(other, 2, SIZE, b)); MUST(cuGraphLaunch(exec, a)););
  MUST(cuGraphExecDestroy(exec));

  // A node of a child's own graph.
  MUST(cuGraphCreate(&parent, 0));
  MUST(cuGraphAddChildGraphNode(&child_node, parent, NULL, 0, graph));
  MUST(cuGraphChildGraphNodeGetGraph(child_node, &child));
  MUST(cuGraphGetNodes(child, &node, &count));
  MUST(cuGraphMemsetNodeSetParams(node, &second));
  MUST(cuGraphInstantiateWithFlags(&parent_exec, parent, 0));
  RACES(0, MUST(cuMemsetD8Async(data, 2, SIZE, b)); MUST(cuGraphLaunch(parent_exec, a)););
  RACES(1, MUST(cuMemsetD8Async(other, 2, SIZE, b)); MUST(cuGraphLaunch(parent_exec, a)););
  MUST(cuGraphExecMemsetNodeSetParams(parent_exec, node, &first, NULL));
  RACES(1, MUST(cuMemsetD8Async(data, 2, SIZE, b)); MUST(cuGraphLaunch(parent_exec, a)););
  MUST(cuGraphExecDestroy(parent_exec));
  MUST(cuGraphDestroy(parent));
  MUST(cuGraphDestroy(graph));
}

int main(void) {
  context = start_races();
  USE_MEMORY;
  USE_STREAMS;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&other, SIZE));
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  check_memory();
  check_kept();
  check_changed();
  return 0;
}
