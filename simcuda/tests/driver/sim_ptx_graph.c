// SPDX-License-Identifier: BSD-3-Clause
// Kernel nodes: captured, made, asked about, and told to do something else, in a graph or in an
// executable one, which each go on by themselves.
#include "race_ptx.h"

struct node {
  CUfunction function;
  unsigned grid[3], block[3], shared_bytes;
  void **arguments, **extra;
  CUkernel kernel;
  CUcontext context;
};

enum { COUNT = 8, SIZE = COUNT * 4, UPDATE_FAILED = 910, TOPOLOGY_CHANGED = 2, TYPE_CHANGED = 3 };

static CUdeviceptr x;
static CUfunction fill, add;

static void must_hold(unsigned index, unsigned expected) {
  USE_MEMORY;
  unsigned found = 0;
  finish_all();
  MUST(cuMemcpyDtoH(&found, x + 4 * index, 4));
  MUST_BE(found, expected);
}

static struct node node_of(CUfunction function, unsigned threads, void **arguments) {
  return (struct node){function, {1, 1, 1}, {threads, 1, 1}, 0, arguments, NULL, NULL, NULL};
}

static void check_node(void) {
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuGraphAddKernelNode, 12000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const struct node *);
  USE(cuGraphKernelNodeGetParams, 12000, CUgraphNode, struct node *);
  USE(cuGraphKernelNodeSetParams, 12000, CUgraphNode, const struct node *);
  USE(cuGraphExecKernelNodeSetParams, 12000, CUgraphExec, CUgraphNode, const struct node *);
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  CUgraph graph = NULL;
  CUgraphExec exec = NULL, second = NULL;
  CUgraphNode first, node, empty;
  CUstream stream;
  size_t count = 1;
  unsigned value = 1, five = 5;
  struct node told, parameters;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(launch(fill, 1, COUNT, stream, ARGUMENTS(&x, &value)));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphGetNodes(graph, &first, &count));
  MUST(cuGraphKernelNodeGetParams(first, &told));
  MUST_BE(told.function == fill && told.block[0] == COUNT && !told.extra, 1);
  MUST_BE(*(CUdeviceptr *)told.arguments[0] == x && *(unsigned *)told.arguments[1] == 1, 1);

  // One more, of one thread, behind it.
  parameters = node_of(fill, 1, ARGUMENTS(&x, &five));
  MUST(cuGraphAddKernelNode(&node, graph, &first, 1, &parameters));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  five = 50;
  value = 10;
  MUST(cuGraphLaunch(exec, stream));
  must_hold(0, 5);
  must_hold(1, 1);

  // The graph is changed: the executable graph goes on as it was.
  MUST(cuGraphKernelNodeSetParams(node, &parameters));
  MUST(cuGraphLaunch(exec, stream));
  must_hold(0, 5);
  MUST(cuGraphInstantiateWithFlags(&second, graph, 0));
  MUST(cuGraphLaunch(second, stream));
  must_hold(0, 50);
  // Or only the executable graph is, from its next launch on; arguments passed to it can be freed.
  MUST(cuGraphKernelNodeGetParams(node, &told));
  *(unsigned *)told.arguments[1] = 50;
  told.block[0] = 2;
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphExecKernelNodeSetParams(exec, node, &told));
  must_hold(0, 5);
  MUST(cuGraphLaunch(exec, stream));
  must_hold(0, 50);
  must_hold(1, 50);
  must_hold(2, 1);
  MUST(cuGraphLaunch(second, stream));
  must_hold(1, 1);
  // A node may get another kernel.
  parameters = node_of(add, COUNT, ARGUMENTS(&x, &x));
  MUST(cuGraphExecKernelNodeSetParams(second, node, &parameters));
  MUST(cuGraphLaunch(second, stream));
  must_hold(COUNT - 1, 2);

  MUST(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
  MUST_BE(cuGraphExecKernelNodeSetParams(exec, empty, &parameters), INVALID_VALUE);
  MUST_BE(cuGraphKernelNodeGetParams(empty, &told), INVALID_VALUE);
  MUST_BE(cuGraphKernelNodeSetParams(node, NULL), INVALID_VALUE);
  parameters.grid[0] = 0;
  MUST_BE(cuGraphKernelNodeSetParams(node, &parameters), INVALID_VALUE);
  MUST(cuGraphDestroy(graph));
  MUST_BE(cuGraphExecKernelNodeSetParams(exec, node, &parameters), INVALID_VALUE);
  MUST(cuGraphLaunch(exec, stream));
  must_hold(0, 50);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphExecDestroy(second));
}

static CUgraph captured(CUstream stream, unsigned value, int kernels) {
  USE_CAPTURE;
  CUgraph graph = NULL;
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  for (int i = 0; i < kernels; ++i) MUST(launch(fill, 1, COUNT, stream, ARGUMENTS(&x, &value)));
  MUST(cuStreamEndCapture(stream, &graph));
  return graph;
}

static void check_update(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  struct {
    int result;
    CUgraphNode node, from;
  } info;
  USE(cuGraphExecUpdate, 12000, CUgraphExec, CUgraph, void *);
  CUstream stream;
  CUgraphExec exec;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  CUgraph one = captured(stream, 1, 2), two = captured(stream, 2, 2),
          three = captured(stream, 3, 3);
  MUST(cuGraphInstantiateWithFlags(&exec, one, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphExecUpdate(exec, two, &info));  // the launch before is not changed by it
  MUST_BE(info.result, 0);
  must_hold(0, 1);
  MUST(cuGraphLaunch(exec, stream));
  must_hold(0, 2);
  MUST_BE(cuGraphExecUpdate(exec, three, &info), UPDATE_FAILED);
  MUST_BE(info.result, TOPOLOGY_CHANGED);
  CUgraph other = NULL;
  unsigned value = 4;
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(launch(fill, 1, 1, stream, ARGUMENTS(&x, &value)));
  MUST(cuMemsetD8Async(x, 0, 4, stream));
  MUST(cuStreamEndCapture(stream, &other));
  MUST_BE(cuGraphExecUpdate(exec, other, &info), UPDATE_FAILED);
  MUST_BE(info.result, TYPE_CHANGED);
  MUST_BE(info.node != NULL, 1);
  MUST(cuGraphLaunch(exec, stream));
  must_hold(0, 2);
  MUST_BE(cuGraphExecUpdate(exec, NULL, &info), INVALID_VALUE);
}

// By cuGraphAddNode, and with a library's kernel, of which a node says what a client would.
static void check_any_node(CUcontext context, const char *text) {
  USE_MEMORY;
  USE_GRAPHS;
  USE(cuLibraryLoadData, 12000, CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
      unsigned);
  USE(cuLibraryGetKernel, 12000, CUkernel *, CUlibrary, const char *);
  USE(cuLibraryUnload, 12000, CUlibrary);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuGraphKernelNodeGetParams, 12000, CUgraphNode, struct node *);
  USE(cuGraphKernelNodeSetParams, 12000, CUgraphNode, const struct node *);
  USE(cuGraphExecKernelNodeSetParams, 12000, CUgraphExec, CUgraphNode, const struct node *);
  typedef struct {  // CUgraphNodeParams, of a kernel
    int type, reserved[3];
    union {
      struct node kernel;
      long long all[29];
    } of;
    long long last;
  } Node;
  CUresult (*add_node)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, Node *);
  CUresult (*set_node)(CUgraphNode, Node *);
  *(void **)&add_node = find("cuGraphAddNode", 12020);
  *(void **)&set_node = find("cuGraphNodeSetParams", 12020);
  CUlibrary module;
  CUkernel kernel;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode first, second;
  CUcontext other;
  struct node told;
  unsigned value = 21, another = 22;
  MUST(cuLibraryLoadData(&module, text, NULL, NULL, 0, NULL, NULL, 0));
  MUST(cuLibraryGetKernel(&kernel, module, "fill"));
  MUST(cuGraphCreate(&graph, 0));
  Node by_function = {.of.kernel = node_of(fill, 1, ARGUMENTS(&x, &value))},
       by_kernel = by_function;
  by_kernel.of.kernel.function = NULL;
  by_kernel.of.kernel.kernel = kernel;
  by_kernel.of.kernel.context = context;
  by_kernel.of.kernel.arguments = ARGUMENTS(&x, &another);
  by_function.of.kernel.context = (CUcontext)5;  // which nobody looks at
  MUST(add_node(&first, graph, NULL, 0, &by_function));
  MUST(add_node(&second, graph, &first, 1, &by_kernel));
  MUST(cuGraphKernelNodeGetParams(second, &told));
  MUST_BE(told.function == NULL && told.kernel == kernel && told.context == context, 1);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, LEGACY));
  must_hold(0, 22);
  MUST(cuGraphExecDestroy(exec));
  another = 23;
  MUST(set_node(second, &by_kernel));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, LEGACY));
  must_hold(0, 23);
  MUST(add_node(&second, graph, NULL, 0, &by_kernel));
  MUST_BE(cuGraphExecKernelNodeSetParams(exec, second, &by_kernel.of.kernel), INVALID_VALUE);
  MUST(cuGraphExecDestroy(exec));
  // It goes to the context that is named.
  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuCtxSetCurrent(context));
  by_kernel.of.kernel.context = other;
  MUST(cuGraphKernelNodeSetParams(second, &by_kernel.of.kernel));
  MUST(cuGraphKernelNodeGetParams(second, &told));
  MUST_BE(told.context == other, 1);
  MUST(cuGraphDestroy(graph));
  MUST(cuCtxDestroy(other));
  MUST(cuCtxSetCurrent(context));
  MUST(cuLibraryUnload(module));
}

int main(void) {
  const CUcontext context = start_races();
  USE_MEMORY;
  static const char text[] = PTX_HEADER PTX_FILL PTX_ADD;
  const CUmodule module = module_of(text);
  fill = function_in(module, "fill");
  add = function_in(module, "add");
  MUST(cuMemAlloc(&x, SIZE));
  check_node();
  check_update();
  if (is_since(12020)) check_any_node(context, text);
  MUST_BE(sim.races(), 0);
  MUST_BE(sim.findings(), 0);
  return 0;
}
