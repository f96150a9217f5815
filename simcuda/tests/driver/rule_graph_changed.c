// SPDX-License-Identifier: BSD-3-Clause
// Rule: Nodes and edges can be taken out of a graph, and nodes told to do something else; what was
// instantiated before goes on as it was, until it is told itself.
// Source: cuda.h, cuGraphDestroyNode, cuGraphMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams
#include "graphs.h"

enum { SIZE = 64 };

static CUdeviceptr data, copied;
static CUstream stream;

static int launched(CUgraphExec exec, CUdeviceptr where) {
  USE_MEMORY;
  USE_STREAMS;
  USE_GRAPHS;
  unsigned char byte = 0;
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, where, 1));
  return byte;
}

static void count(void *number) { ++*(int *)number; }

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_GRAPHS;
  USE_NODES;
  USE(cuGraphDestroyNode, 10000, CUgraphNode);
  USE(cuGraphRemoveDependencies, 10000, CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
  USE(cuGraphNodeGetDependencies, 10000, CUgraphNode, CUgraphNode *, size_t *);
  USE(cuGraphNodeGetDependentNodes, 10000, CUgraphNode, CUgraphNode *, size_t *);
  USE(cuGraphMemsetNodeGetParams, 10000, CUgraphNode, Fill *);
  USE(cuGraphMemsetNodeSetParams, 10000, CUgraphNode, const Fill *);
  USE(cuGraphMemcpyNodeGetParams, 10000, CUgraphNode, Copy *);
  USE(cuGraphMemcpyNodeSetParams, 10000, CUgraphNode, const Copy *);
  USE(cuGraphHostNodeGetParams, 10000, CUgraphNode, HostCall *);
  USE(cuGraphHostNodeSetParams, 10000, CUgraphNode, const HostCall *);
  USE(cuGraphEventRecordNodeGetEvent, 11010, CUgraphNode, CUevent *);
  USE(cuGraphEventRecordNodeSetEvent, 11010, CUgraphNode, CUevent);
  USE(cuGraphExecMemsetNodeSetParams, 10020, CUgraphExec, CUgraphNode, const Fill *, CUcontext);
  USE(cuGraphExecMemcpyNodeSetParams, 10020, CUgraphExec, CUgraphNode, const Copy *, CUcontext);
  USE(cuGraphExecHostNodeSetParams, 10020, CUgraphExec, CUgraphNode, const HostCall *);
  USE(cuGraphExecEventRecordNodeSetEvent, 11010, CUgraphExec, CUgraphNode, CUevent);
  USE(cuGraphNodeSetEnabled, 11060, CUgraphExec, CUgraphNode, unsigned);
  USE(cuGraphNodeGetEnabled, 11060, CUgraphExec, CUgraphNode, unsigned *);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode set, copy, call, record, extra, nodes[8];
  CUevent first, second, told = NULL;
  CUcontext context;
  int calls = 0, other_calls = 0;
  unsigned enabled = 7;
  size_t known = 8;
  MUST(cuCtxGetCurrent(&context));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&copied, SIZE));
  MUST(cuMemsetD8Async(copied, 0, SIZE, LEGACY));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuEventCreate(&first, 2));
  MUST(cuEventCreate(&second, 2));
  Fill fill = fill_of(data, 1, SIZE), fill_told;
  Copy moved = copy_of(copied, data, SIZE), moved_told;
  HostCall counted = {count, &calls}, counted_told;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, context));
  MUST(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &moved, context));
  MUST(cuGraphAddHostNode(&call, graph, &copy, 1, &counted));
  MUST(cuGraphAddEventRecordNode(&record, graph, &call, 1, first));
  MUST(cuGraphAddEmptyNode(&extra, graph, &record, 1));
  MUST(cuGraphMemsetNodeGetParams(set, &fill_told));
  MUST_BE(fill_told.to == data && fill_told.value == 1 && fill_told.width == SIZE, 1);
  MUST(cuGraphMemcpyNodeGetParams(copy, &moved_told));
  MUST_BE(moved_told.to == copied && moved_told.from == data && moved_told.width == SIZE, 1);
  MUST(cuGraphHostNodeGetParams(call, &counted_told));
  MUST_BE(counted_told.function == count && counted_told.data == &calls, 1);
  MUST_BE(cuGraphMemsetNodeGetParams(copy, &fill_told), INVALID_VALUE);
  MUST_BE(cuGraphMemsetNodeSetParams(copy, &fill), INVALID_VALUE);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));

  // The graph's nodes, and not the executable graph's.
  fill.value = 2;
  MUST(cuGraphMemsetNodeSetParams(set, &fill));
  MUST(cuGraphMemsetNodeGetParams(set, &fill_told));
  MUST_BE(fill_told.value, 2);
  counted.data = &other_calls;
  MUST(cuGraphHostNodeSetParams(call, &counted));
  MUST(cuGraphEventRecordNodeSetEvent(record, second));
  MUST(cuGraphEventRecordNodeGetEvent(record, &told));
  MUST_BE(told == second, 1);
  MUST_BE(launched(exec, copied), 1);
  MUST_BE(calls, 1);
  MUST_BE(other_calls, 0);
  MUST(cuEventSynchronize(first));
  fill.width = 0;
  MUST_BE(cuGraphMemsetNodeSetParams(set, &fill), INVALID_VALUE);
  fill.width = SIZE;

  // The executable graph, and not the graph.
  fill.value = 3;
  MUST(cuGraphExecMemsetNodeSetParams(exec, set, &fill, context));
  MUST(cuGraphExecHostNodeSetParams(exec, call, &counted));
  MUST(cuGraphExecEventRecordNodeSetEvent(exec, record, second));
  MUST_BE(launched(exec, copied), 3);
  MUST_BE(calls, 1);
  MUST_BE(other_calls, 1);
  MUST(cuGraphMemsetNodeGetParams(set, &fill_told));
  MUST_BE(fill_told.value, 2);
  moved.from = data + 1;
  moved.width = SIZE - 1;
  MUST(cuGraphExecMemcpyNodeSetParams(exec, copy, &moved, context));
  MUST_BE(launched(exec, copied), 3);
  MUST(cuGraphMemcpyNodeSetParams(copy, &moved));

  // Left out.
  fill.value = 4;
  MUST(cuGraphExecMemsetNodeSetParams(exec, set, &fill, context));
  MUST(cuGraphNodeSetEnabled(exec, copy, 0));
  MUST(cuGraphNodeGetEnabled(exec, copy, &enabled));
  MUST_BE(enabled, 0);
  MUST_BE(launched(exec, copied), 3);
  MUST(cuGraphNodeSetEnabled(exec, copy, 1));
  MUST_BE(launched(exec, copied), 4);
  MUST_BE(cuGraphNodeSetEnabled(exec, call, 0), INVALID_VALUE);
  MUST(cuGraphExecDestroy(exec));

  // Edges, and nodes with theirs.
  MUST(cuGraphRemoveDependencies(graph, &record, &extra, 1));
  MUST_BE(cuGraphRemoveDependencies(graph, &record, &extra, 1), INVALID_VALUE);
  MUST(cuGraphNodeGetDependencies(extra, nodes, &known));
  MUST_BE(known, 0);
  MUST(cuGraphDestroyNode(extra));
  MUST(cuGraphDestroyNode(copy));
  known = 8;
  MUST(cuGraphGetNodes(graph, nodes, &known));
  MUST_BE(known, 3);
  known = 8;
  MUST(cuGraphNodeGetDependentNodes(set, nodes, &known));
  MUST_BE(known, 0);
  known = 8;
  MUST(cuGraphNodeGetDependencies(call, nodes, &known));
  MUST_BE(known, 0);
  MUST_BE(cuGraphRemoveDependencies(graph, NULL, NULL, 1), INVALID_VALUE);
  MUST_BE(cuGraphRemoveDependencies(graph, &set, &set, 1), INVALID_VALUE);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST_BE(launched(exec, data), 2);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  return 0;
}
