// SPDX-License-Identifier: BSD-3-Clause
// Rule: A conditional node runs the body that a value names, or none: of an if the second if it is
// 0, of a switch that of its number, of a while the only one as long as it is not 0. Bodies hold
// kernels, copies, memset, empty, child and conditional nodes; the graph has one instance and no
// copy.
// Source: cuda.h, CUDA_CONDITIONAL_NODE_PARAMS; statuses to be checked on a GPU
#include "graphs.h"

enum { BODIES = 3, HANDLE_UNUSED = 5, CONDITIONAL = 13 };

static CUcontext context;
static CUdeviceptr data;
static CUstream stream;

static void nothing(void *unused) { (void)unused; }

// Each body sets its own byte to its own number, counted from 1.
static CUgraph graph_of(int kind, unsigned size, unsigned value, CUgraphNode *node, Choice *told) {
  USE_GRAPHS;
  USE_NODES;
  USE_CONDITIONAL_NODES;
  CUgraph graph;
  CUgraphNode set;
  unsigned long long handle = 0;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphConditionalHandleCreate(&handle, graph, context, value, ASSIGN_DEFAULT));
  *told = choice_of(handle, kind, size);
  told->context = context;
  MUST(cuGraphAddNode(node, graph, NULL, 0, told));
  for (unsigned i = 0; i < size; ++i) {
    const Fill fill = fill_of(data + i, i + 1, 1);
    MUST(cuGraphAddMemsetNode(&set, told->bodies[i], NULL, 0, &fill, context));
  }
  return graph;
}

// The bytes after a launch, as digits, the first one in front.
static unsigned bytes_after(CUgraphExec exec) {
  USE_MEMORY;
  USE_GRAPHS;
  USE_STREAMS;
  unsigned char found[BODIES] = {0};
  MUST(cuMemsetD8Async(data, 0, BODIES, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(found, data, BODIES));
  return found[0] * 100u + found[1] * 10u + found[2];
}

static void check_choice(int kind, unsigned size, unsigned value, unsigned expected) {
  USE_GRAPHS;
  CUgraphNode node;
  CUgraphExec exec;
  Choice told;
  CUgraph graph = graph_of(kind, size, value, &node, &told);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));
  MUST_BE(bytes_after(exec), expected);
  MUST_BE(bytes_after(exec), expected);
  MUST(cuGraphExecDestroy(exec));
}

static void check_graph(void) {
  USE_MEMORY;
  USE_GRAPHS;
  USE_NODES;
  USE_CONDITIONAL_NODES;
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  USE(cuGraphClone, 10000, CUgraph *, CUgraph);
  USE(cuGraphDestroyNode, 10000, CUgraphNode);
  CUgraph graph, other, copy;
  CUgraphNode node, last, inner;
  CUgraphExec exec, second;
  Choice told, wrong;
  int type = 0;
  size_t count = 0;
  graph = graph_of(IF, 1, 1, &node, &told);
  MUST(cuGraphNodeGetType(node, &type));
  MUST_BE(type, CONDITIONAL);
  // The nodes of bodies are not the graph's; bodies are the node's.
  MUST(cuGraphGetNodes(graph, NULL, &count));
  MUST_BE(count, 1);
  MUST(cuGraphGetNodes(told.bodies[0], NULL, &count));
  MUST_BE(count, 1);
  MUST_BE(cuGraphDestroy(told.bodies[0]) != SUCCESS, 1);
  MUST_BE(cuGraphClone(&copy, graph) != SUCCESS, 1);
  MUST(cuGraphCreate(&other, 0));
  MUST_BE(cuGraphAddChildGraphNode(&last, other, NULL, 0, graph) != SUCCESS, 1);
  // Work after the node comes after its body.
  const Copy behind = copy_of(data + 1, data, 1);
  MUST(cuGraphAddMemcpyNode(&last, graph, &node, 1, &behind, context));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST_BE(bytes_after(exec), 110);
  MUST_BE(cuGraphInstantiateWithFlags(&second, graph, 0) != SUCCESS, 1);
  MUST(cuGraphExecDestroy(exec));

  // Nested nodes, whose handle may be of either graph.
  unsigned long long handle;
  MUST(cuGraphConditionalHandleCreate(&handle, graph, context, 2, ASSIGN_DEFAULT));
  wrong = choice_of(handle, SWITCH, BODIES);
  wrong.context = context;
  MUST_BE(cuGraphAddNode(&inner, other, NULL, 0, &wrong) != SUCCESS, 1);
  MUST(cuGraphAddNode(&inner, told.bodies[0], NULL, 0, &wrong));
  const Fill fill = fill_of(data + 2, 7, 1);
  MUST(cuGraphAddMemsetNode(&last, wrong.bodies[2], NULL, 0, &fill, context));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST_BE(bytes_after(exec), 117);
  MUST(cuGraphExecDestroy(exec));

  // Copies and child graphs can be inside.
  CUgraph child;
  const Copy copied = copy_of(data, data + 1, 1);
  MUST(cuGraphCreate(&child, 0));
  MUST(cuGraphAddMemcpyNode(&last, child, NULL, 0, &copied, context));
  MUST(cuGraphAddChildGraphNode(&last, wrong.bodies[1], NULL, 0, child));
  MUST(cuGraphAddMemcpyNode(&last, wrong.bodies[1], &last, 1, &copied, context));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST_BE(bytes_after(exec), 117);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(child));

  // Host functions cannot be inside, at no depth.
  const HostCall call = {nothing, NULL};
  MUST(cuGraphAddHostNode(&last, wrong.bodies[1], NULL, 0, &call));
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, 0) != SUCCESS, 1);
  MUST(cuGraphDestroyNode(last));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroyNode(node));
  MUST_BE(bytes_after(exec), 117);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuGraphDestroy(other));
}

static void check_arguments(void) {
  USE_GRAPHS;
  USE_CONDITIONAL_NODES;
  struct {
    uint64_t flags;
    CUstream stream;
    CUgraphNode node;
    int result;
  } how = {0};
  USE(cuGraphInstantiateWithParams, 12000, CUgraphExec *, CUgraph, void *);
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec exec;
  unsigned long long handle;
  MUST(cuGraphCreate(&graph, 0));
  MUST_BE(cuGraphConditionalHandleCreate(NULL, graph, context, 0, 0), INVALID_VALUE);
  MUST_BE(cuGraphConditionalHandleCreate(&handle, NULL, context, 0, 0), INVALID_VALUE);
  MUST_BE(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 2), INVALID_VALUE);
  FOUND_STATUS("a handle of no context", cuGraphConditionalHandleCreate(&handle, graph, NULL, 0, 0),
               INVALID_CONTEXT);
  MUST(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 0));
  const struct {
    int kind;
    unsigned size;
  } wrong[] = {{IF, 0}, {IF, 3}, {WHILE, 2}, {SWITCH, 0}, {3, 1}, {-1, 1}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    Choice choice = choice_of(handle, wrong[i].kind, wrong[i].size);
    choice.context = context;
    MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &choice), INVALID_VALUE);
  }
  Choice choice = choice_of(handle + 1, IF, 1);
  choice.context = context;
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &choice), INVALID_VALUE);
  // A handle that no node goes by.
  MUST_BE(cuGraphInstantiateWithParams(&exec, graph, &how) != SUCCESS, 1);
  MUST_BE(how.result, HANDLE_UNUSED);
  choice.handle = handle;
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &choice));
  MUST(cuGraphInstantiateWithParams(&exec, graph, &how));
  MUST_BE(how.result, 0);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

int main(void) {
  context = start();
  USE_MEMORY;
  USE_STREAMS;
  MUST(cuMemAlloc(&data, BODIES));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  check_choice(IF, 1, 1, 100);
  check_choice(IF, 1, 7, 100);
  check_choice(IF, 1, 0, 0);
  check_choice(IF, 2, 1, 100);
  check_choice(IF, 2, 0, 20);
  check_choice(SWITCH, 3, 0, 100);
  check_choice(SWITCH, 3, 2, 3);
  check_choice(SWITCH, 3, 3, 0);
  check_choice(WHILE, 1, 0, 0);
  check_graph();
  check_arguments();
  return 0;
}
