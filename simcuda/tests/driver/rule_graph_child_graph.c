// SPDX-License-Identifier: BSD-3-Clause
// Rule: A child node has a graph of its own, a copy of the one it was made of: what becomes of that
// graph becomes of the node, and it goes with the node.
// Source: cuda.h, cuGraphChildGraphNodeGetGraph and cuGraphExecChildGraphNodeSetParams
#include "graphs.h"

enum { SIZE = 64 };

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GRAPHS;
  USE_NODES;
  USE(cuGraphChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph *);
  USE(cuGraphExecChildGraphNodeSetParams, 11010, CUgraphExec, CUgraphNode, CUgraph);
  USE(cuGraphMemsetNodeSetParams, 10000, CUgraphNode, const Fill *);
  USE(cuGraphDestroyNode, 10000, CUgraphNode);
  CUgraph graph, inner, child = NULL, other;
  CUgraphExec exec;
  CUgraphNode set, in_child[2], child_node, last;
  CUdeviceptr data;
  CUstream stream;
  unsigned char byte = 0;
  size_t count = 2;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  Fill fill = fill_of(data, 1, SIZE);
  MUST(cuGraphCreate(&inner, 0));
  MUST(cuGraphAddMemsetNode(&set, inner, NULL, 0, &fill, NULL));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddChildGraphNode(&child_node, graph, NULL, 0, inner));
  MUST(cuGraphAddEmptyNode(&last, graph, &child_node, 1));
  MUST(cuGraphChildGraphNodeGetGraph(child_node, &child));
  MUST_BE(child != inner, 1);
  MUST_BE(cuGraphChildGraphNodeGetGraph(last, &child), INVALID_VALUE);
  MUST(cuGraphGetNodes(child, in_child, &count));
  MUST_BE(count, 1);
  MUST_BE(in_child[0] != set, 1);
  MUST_BE(cuGraphDestroy(child) != SUCCESS, 1);

  // The original is nothing to the node; the node's own graph is.
  fill.value = 2;
  MUST(cuGraphMemsetNodeSetParams(set, &fill));
  fill.value = 3;
  MUST(cuGraphMemsetNodeSetParams(in_child[0], &fill));
  MUST(cuGraphDestroy(inner));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 3);

  // Another graph of the same shape, for what was instantiated.
  MUST(cuGraphCreate(&other, 0));
  fill.value = 4;
  MUST(cuGraphAddMemsetNode(&set, other, NULL, 0, &fill, NULL));
  MUST(cuGraphExecChildGraphNodeSetParams(exec, child_node, other));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 4);
  MUST(cuGraphAddEmptyNode(&set, other, NULL, 0));
  MUST_BE(cuGraphExecChildGraphNodeSetParams(exec, child_node, other) != SUCCESS, 1);
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));

  // Of a graph in a graph in a graph, too.
  CUgraph outer, changed;
  CUgraphExec of_outer;
  CUgraphNode outer_node, changed_node;
  MUST(cuGraphCreate(&outer, 0));
  MUST(cuGraphAddChildGraphNode(&outer_node, outer, NULL, 0, graph));
  MUST(cuGraphInstantiateWithFlags(&of_outer, outer, 0));
  MUST(cuGraphLaunch(of_outer, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 3);
  MUST(cuGraphCreate(&changed, 0));
  MUST(cuGraphCreate(&inner, 0));
  fill.value = 5;
  MUST(cuGraphAddMemsetNode(&set, inner, NULL, 0, &fill, NULL));
  MUST(cuGraphAddChildGraphNode(&changed_node, changed, NULL, 0, inner));
  MUST(cuGraphAddEmptyNode(&last, changed, &changed_node, 1));
  MUST(cuGraphExecChildGraphNodeSetParams(of_outer, outer_node, changed));
  MUST(cuGraphLaunch(of_outer, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 5);
  MUST_BE(cuGraphExecChildGraphNodeSetParams(of_outer, changed_node, changed), INVALID_VALUE);
  MUST(cuGraphExecDestroy(of_outer));
  MUST(cuGraphDestroy(changed));
  MUST(cuGraphDestroy(inner));
  MUST(cuGraphDestroy(outer));

  MUST(cuGraphDestroyNode(child_node));
  MUST_BE(cuGraphGetNodes(child, in_child, &count), INVALID_VALUE);
  MUST(cuGraphDestroy(other));
  MUST(cuGraphDestroy(graph));
  MUST(cuGraphExecDestroy(exec));
  return 0;
}
