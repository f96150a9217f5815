// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuGraphAddNode makes a node of any type, after its parameters, which name the type.
// Source: cuda.h, cuGraphAddNode and CUgraphNodeParams; the context is to be checked on a GPU
#include "graphs.h"

enum { SIZE = 64, COPY = 1, FILL = 2, HOST = 3, CHILD = 4, EMPTY = 5, WAIT = 6, RECORD = 7 };
enum { ALLOCATION = 10, FREE = 11 };

static void count(void *number) { ++*(int *)number; }

int main(void) {
  const CUcontext context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_GRAPHS;
  USE(cuGraphAddNode, 12020, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, Node *);
  USE(cuGraphNodeSetParams, 12020, CUgraphNode, Node *);
  USE(cuGraphExecNodeSetParams, 12020, CUgraphExec, CUgraphNode, Node *);
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  CUgraph graph, inner;
  CUgraphExec exec;
  CUgraphNode nodes[9], none;
  CUdeviceptr data;
  CUstream stream;
  CUevent event;
  unsigned char byte = 0;
  int calls = 0;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, stream));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&inner, 0));
  Node all[9] = {{.type = ALLOCATION}, {.type = FILL}, {.type = COPY},
                 {.type = FREE},       {.type = HOST}, {.type = EMPTY},
                 {.type = RECORD},     {.type = WAIT}, {.type = CHILD}};
  all[0].of.allocation = allocation_of(SIZE);
  for (int i = 0; i < 9; ++i) {
    const CUdeviceptr scratch = all[0].of.allocation.address;
    if (all[i].type == FILL) {
      all[i].of.fill.fill = fill_of(scratch, 5, SIZE);
      FOUND_STATUS("a fill of the graph's memory in no context",
                   cuGraphAddNode(&none, graph, &nodes[i - 1], 1, &all[i]), INVALID_VALUE);
      all[i].of.fill.context = context;
    }
    if (all[i].type == COPY) all[i].of.copy.copy = copy_of(data, scratch, SIZE);  // in no context
    if (all[i].type == FREE) all[i].of.free = scratch;
    if (all[i].type == HOST) all[i].of.host = (HostCall){count, &calls};
    if (all[i].type == RECORD || all[i].type == WAIT) all[i].of.event = event;
    if (all[i].type == CHILD) all[i].of.child.graph = inner;
    MUST(cuGraphAddNode(&nodes[i], graph, i ? &nodes[i - 1] : NULL, i ? 1 : 0, &all[i]));
    int type = -1;
    MUST(cuGraphNodeGetType(nodes[i], &type));
    MUST_BE(type, all[i].type);
  }
  Node unknown = {.type = 99};
  MUST_BE(cuGraphAddNode(&none, graph, NULL, 0, &unknown), INVALID_VALUE);
  MUST_BE(cuGraphAddNode(&none, graph, NULL, 0, NULL), INVALID_VALUE);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 5);
  MUST_BE(calls, 1);
  all[1].of.fill.fill.value = 6;
  MUST(cuGraphExecNodeSetParams(exec, nodes[1], &all[1]));
  MUST_BE(cuGraphExecNodeSetParams(exec, nodes[2], &all[1]), INVALID_VALUE);
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 6);
  // Each of the others that has parameters: in the graph, and in what was made of it.
  CUdeviceptr other_data;
  CUevent other_event, told = NULL;
  int other_calls = 0;
  HostCall other_call;
  USE(cuGraphHostNodeGetParams, 10000, CUgraphNode, HostCall *);
  USE(cuGraphEventRecordNodeGetEvent, 11010, CUgraphNode, CUevent *);
  USE(cuGraphEventWaitNodeGetEvent, 11010, CUgraphNode, CUevent *);
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  MUST(cuMemAlloc(&other_data, SIZE));
  MUST(cuEventCreate(&other_event, 2));
  all[2].of.copy.copy.to = other_data;
  all[4].of.host.data = &other_calls;
  all[6].of.event = all[7].of.event = other_event;
  for (int i = 0; i < 9; ++i) {
    if (all[i].type == COPY || all[i].type == HOST || all[i].type == RECORD || all[i].type == WAIT)
      MUST(cuGraphExecNodeSetParams(exec, nodes[i], &all[i]));
    if (all[i].type == CHILD) MUST(cuGraphExecNodeSetParams(exec, nodes[i], &all[i]));
  }
  MUST(cuGraphHostNodeGetParams(nodes[4], &other_call));
  MUST_BE(other_call.data == &calls, 1);
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuEventSynchronize(other_event));
  MUST(cuMemcpyDtoH(&byte, other_data, 1));
  MUST_BE(byte, 6);
  MUST_BE(calls, 2);
  MUST_BE(other_calls, 1);
  for (int i = 4; i < 8; ++i)
    if (all[i].type != EMPTY) MUST(cuGraphNodeSetParams(nodes[i], &all[i]));
  MUST(cuGraphHostNodeGetParams(nodes[4], &other_call));
  MUST_BE(other_call.data == &other_calls, 1);
  MUST(cuGraphEventRecordNodeGetEvent(nodes[6], &told));
  MUST_BE(told == other_event, 1);
  MUST(cuGraphEventWaitNodeGetEvent(nodes[7], &told));
  MUST_BE(told == other_event, 1);
  MUST(cuGraphAddEmptyNode(&none, graph, NULL, 0));
  MUST_BE(cuGraphExecNodeSetParams(exec, none, &all[5]) != SUCCESS, 1);  // it came later
  all[1].of.fill.fill.value = 7;
  MUST(cuGraphNodeSetParams(nodes[1], &all[1]));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 7);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  return 0;
}
