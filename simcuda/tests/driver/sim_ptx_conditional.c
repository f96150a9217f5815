// SPDX-License-Identifier: BSD-3-Clause
// Conditional nodes whose values kernels set: what runs, what races, and one that never ends.
#include "apart.h"
#include "graphs.h"
#include "race_ptx.h"

enum { COUNT = 8, SIZE = COUNT * 4, TIMEOUT = 702, UPDATE_FAILED = 910, PARAMETERS_CHANGED = 5 };

// As NVRTC makes it of C++ that declares the function of CUDA's device runtime.
#define PTX_DECLARED \
  ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
#define PTX_SET(value)                                                             \
  "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %h; st.param.b32 [b], " value \
  ";\n"                                                                            \
  "  call.uni cudaGraphSetConditional, (a, b); }\n"
// `choose` sets a value; `count_down` takes 1 from a word, and sets the value to what is left;
// `swing` writes to one of two words, to the other one when it is one less that is left.
static const char *const kernels = PTX_HEADER PTX_DECLARED PTX_FILL PTX_COUNT
    ".visible .entry choose(.param .u64 handle, .param .u32 value)\n"
    "{\n"
    "  .reg .b64 %h; .reg .b32 %v;\n"
    "  ld.param.u64 %h, [handle];\n"
    "  ld.param.u32 %v, [value];\n"
    PTX_SET("%v")
    "  ret;\n"
    "}\n"
    ".visible .entry count_down(.param .u64 handle, .param .u64 left)\n"
    "{\n"
    "  .reg .b64 %h, %p; .reg .b32 %v;\n"
    "  ld.param.u64 %h, [handle];\n"
    "  ld.param.u64 %p, [left];\n"
    "  ld.global.u32 %v, [%p];\n"
    "  sub.u32 %v, %v, 1;\n"
    "  st.global.u32 [%p], %v;\n"
    PTX_SET("%v")
    "  ret;\n"
    "}\n"
    ".visible .entry swing(.param .u64 left, .param .u64 out, .param .u32 more)\n"
    "{\n"
    "  .reg .b64 %p, %q; .reg .b32 %v, %m;\n"
    "  ld.param.u64 %p, [left];\n"
    "  ld.param.u64 %q, [out];\n"
    "  ld.param.u32 %m, [more];\n"
    "  ld.global.u32 %v, [%p];\n"
    "  add.u32 %v, %v, %m;\n"
    "  and.b32 %v, %v, 1;\n"
    "  mad.wide.u32 %q, %v, 4, %q;\n"
    "  st.global.u32 [%q], %v;\n"
    "  ret;\n"
    "}\n";

static CUfunction fill, count, choose, count_down, swing;
static CUstream stream, other;
static CUdeviceptr x, y, left;
static unsigned one = 1;

static unsigned word_at(CUdeviceptr address) {
  USE_MEMORY;
  unsigned found = 0;
  finish_all();
  MUST(cuMemcpyDtoH(&found, address, 4));
  return found;
}

static void set_word(CUdeviceptr address, unsigned value) {
  USE_MEMORY;
  MUST(cuMemcpyHtoD(address, &value, 4));
  finish_all();  // the other streams do not wait for it
}

// A kernel of one thread, after these nodes.
static CUgraphNode kernel_node(CUgraph graph, CUfunction function, void **arguments,
                               const CUgraphNode *before, size_t depends_on) {
  struct {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    void **arguments, **extra;
    void *kernel;
    CUcontext context;
  } node = {function, {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL, NULL, NULL};
  USE(cuGraphAddKernelNode, 12000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const void *);
  CUgraphNode made;
  MUST(cuGraphAddKernelNode(&made, graph, before, depends_on, &node));
  return made;
}

static CUcontext current(void) {
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUcontext context = NULL;
  MUST(cuCtxGetCurrent(&context));
  return context;
}

static unsigned long long handle_of(CUgraph graph, unsigned value, unsigned flags) {
  USE_CONDITIONAL_NODES;
  unsigned long long handle = 0;
  MUST(cuGraphConditionalHandleCreate(&handle, graph, current(), value, flags));
  return handle;
}

// A conditional node, after these; returns its first body, and itself, if that is asked for.
static CUgraph *choice_in(CUgraph graph, unsigned long long handle, int kind, unsigned size,
                          const CUgraphNode *before, size_t depends_on, CUgraphNode *made) {
  USE_CONDITIONAL_NODES;
  CUgraphNode node;
  Choice choice = choice_of(handle, kind, size);
  choice.context = current();
  MUST(cuGraphAddNode(made ? made : &node, graph, before, depends_on, &choice));
  return choice.bodies;
}

static CUgraphExec exec_of(CUgraph graph) {
  USE_GRAPHS;
  CUgraphExec exec = NULL;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

static CUgraph new_graph(void) {
  USE_GRAPHS;
  CUgraph graph;
  MUST(cuGraphCreate(&graph, 0));
  return graph;
}

// Captured: a kernel sets the value, an if goes by it, and a kernel comes behind that.
static void check_captured(void) {
  USE_CAPTURE;
  USE_GRAPHS;
  USE_CONDITIONAL_NODES;
  USE(cuStreamGetCaptureInfo, 11030, CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **,
      size_t *);
  USE(cuStreamUpdateCaptureDependencies, 11030, CUstream, CUgraphNode *, size_t, unsigned);
  USE(cuStreamBeginCaptureToGraph, 12030, CUstream, CUgraph, const CUgraphNode *, const void *,
      size_t, int);
  for (unsigned value = 0; value < 2; ++value) {
    CUgraph graph = NULL, ended;
    CUgraphNode node;
    const CUgraphNode *tail;
    size_t tails;
    int status;
    MUST(cuStreamBeginCapture(stream, RELAXED));
    MUST(cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &tail, &tails));
    unsigned long long handle = handle_of(graph, 0, 0);
    MUST(launch(choose, 1, 1, stream, ARGUMENTS(&handle, &value)));
    MUST(cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &tail, &tails));
    CUgraph body = *choice_in(graph, handle, IF, 1, tail, tails, &node);
    MUST(cuStreamUpdateCaptureDependencies(stream, &node, 1, 1));
    MUST(cuStreamBeginCaptureToGraph(other, body, NULL, NULL, 0, RELAXED));
    MUST(launch(count, 1, 1, other, ARGUMENTS(&x)));
    MUST(launch(count, 1, 1, other, ARGUMENTS(&x)));
    MUST_BE(cuGraphInstantiateWithFlags(&(CUgraphExec){NULL}, graph, 0) != SUCCESS, 1);
    MUST(cuStreamEndCapture(other, &ended));
    MUST_BE(ended == body, 1);
    MUST(launch(count, 1, 1, stream, ARGUMENTS(&x)));
    MUST(cuStreamEndCapture(stream, &graph));
    CUgraphExec exec = exec_of(graph);
    set_word(x, 0);
    MUST(cuGraphLaunch(exec, stream));
    MUST_BE(word_at(x), value ? 3 : 1);
    MUST(cuGraphLaunch(exec, stream));
    MUST_BE(word_at(x), value ? 6 : 2);
    MUST_BE(cuGraphLaunch(exec, stream), SUCCESS);
    MUST(cuGraphExecDestroy(exec));  // its launch goes on
    MUST(cuGraphDestroy(graph));
    MUST_BE(word_at(x), value ? 9 : 3);
  }
  MUST_BE(sim.races(), 0);
}

// A while in a while: both count, and the inner one is begun anew by the outer.
static void check_loops(void) {
  USE_GRAPHS;
  USE_NODES;
  CUgraph graph = new_graph();
  unsigned long long outer = handle_of(graph, 1, ASSIGN_DEFAULT), inner = handle_of(graph, 0, 0);
  CUgraph body = *choice_in(graph, outer, WHILE, 1, NULL, 0, NULL);
  const Fill three = {left + 4, 0, 3, 4, 1, 1};
  CUgraphNode begin, loop, first;
  MUST(cuGraphAddMemsetNode(&begin, body, NULL, 0, &three, NULL));
  first = kernel_node(body, choose, ARGUMENTS(&inner, &one), &begin, 1);
  CUgraph innermost = *choice_in(body, inner, WHILE, 1, &first, 1, &loop);
  kernel_node(body, count_down, ARGUMENTS(&outer, &left), &loop, 1);
  CUdeviceptr inner_left = left + 4;
  CUgraphNode counted = kernel_node(innermost, count, ARGUMENTS(&x), NULL, 0);
  kernel_node(innermost, count_down, ARGUMENTS(&inner, &inner_left), &counted, 1);
  CUgraphExec exec = exec_of(graph);
  set_word(x, 0);
  set_word(left, 5);
  MUST(cuGraphLaunch(exec, stream));
  MUST_BE(word_at(x), 15);
  MUST_BE(word_at(left), 0);
  // More often than others are kept waiting.
  set_word(left, 1200);
  MUST(cuGraphLaunch(exec, stream));
  MUST_BE(word_at(x), 15 + 3 * 1200);
  MUST_BE(sim.races(), 0);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

static void *(*use)(uint64_t, uint64_t, int32_t);

static int32_t add_one(const simcuda_launch *launch, void *data) {
  unsigned *word = use(*(const uint64_t *)launch->arguments[0], 4, 1);
  if (!word || *(int *)data != 7) return LAUNCH_FAILED;
  ++*word;
  return 0;
}

// A function of the test's in the place of a kernel, again and again.
static void check_stand_in(void) {
  USE_GRAPHS;
  USE_MEMORY;
  FIND_SIM(simcuda_stand_in);
  FIND_SIM(simcuda_use);
  use = simcuda_use;
  static int seven = 7;
  const uint32_t sizes[] = {8};
  MUST(simcuda_stand_in("count", sizes, 1, add_one, &seven));
  const CUfunction stands_in = function_in(module_of(kernels), "count");
  CUgraph graph = new_graph();
  unsigned long long handle = handle_of(graph, 1, ASSIGN_DEFAULT);
  CUgraph body = *choice_in(graph, handle, WHILE, 1, NULL, 0, NULL);
  CUgraphNode counted = kernel_node(body, stands_in, ARGUMENTS(&x), NULL, 0);
  kernel_node(body, count_down, ARGUMENTS(&handle, &left), &counted, 1);
  CUgraphExec exec = exec_of(graph);
  set_word(x, 0);
  set_word(left, 5);
  MUST(cuGraphLaunch(exec, stream));
  MUST_BE(word_at(x), 5);
  MUST_BE(sim.races(), 0);
  // Nothing orders it with other work on the same word.
  set_word(left, 2);
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuMemsetD8Async(x, 0, 4, other));
  finish_all();
  MUST_BE(sim.races() > 0, 1);
  sim.reset();
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

// A value stays from launch to launch, unless it is set at each.
static void check_value(void) {
  USE_GRAPHS;
  CUgraph graph = new_graph();
  unsigned long long kept = handle_of(graph, 1, 0), set = handle_of(graph, 1, ASSIGN_DEFAULT);
  unsigned value = 1, none = 0;
  CUgraph body = *choice_in(graph, kept, IF, 1, NULL, 0, NULL);
  kernel_node(body, count, ARGUMENTS(&x), NULL, 0);
  body = *choice_in(graph, set, IF, 1, NULL, 0, NULL);
  kernel_node(body, count, ARGUMENTS(&y), NULL, 0);
  CUgraphExec exec = exec_of(graph);
  MUST(launch(choose, 1, 1, stream, ARGUMENTS(&kept, &value)));
  set_word(x, 0);
  set_word(y, 0);
  for (int i = 0; i < 2; ++i) MUST(cuGraphLaunch(exec, stream));
  MUST(launch(choose, 1, 1, stream, ARGUMENTS(&kept, &none)));
  MUST(launch(choose, 1, 1, stream, ARGUMENTS(&set, &none)));
  for (int i = 0; i < 2; ++i) MUST(cuGraphLaunch(exec, stream));
  MUST_BE(word_at(x), 2);
  MUST_BE(word_at(y), 4);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

static CUgraph switch_of(unsigned value, CUdeviceptr *to, int kind, unsigned size) {
  CUgraph graph = new_graph();
  CUgraph *bodies =
      choice_in(graph, handle_of(graph, value, ASSIGN_DEFAULT), kind, size, NULL, 0, NULL);
  for (unsigned i = 0; i < size; ++i)
    kernel_node(bodies[i], fill, ARGUMENTS(&to[i], &one), NULL, 0);
  return graph;
}

// The executable graph gets another condition, and other work in its bodies.
static void check_update(void) {
  USE_GRAPHS;
  struct {
    int result;
    CUgraphNode node, from;
  } info;
  USE(cuGraphExecUpdate, 12000, CUgraphExec, CUgraph, void *);
  CUdeviceptr to[2] = {x, x + 4}, others[2] = {y, y + 4};
  CUgraph first = switch_of(0, to, SWITCH, 2), second = switch_of(1, others, SWITCH, 2);
  CUgraph as_if = switch_of(1, to, IF, 2), smaller = switch_of(0, to, SWITCH, 1);
  CUgraphExec exec = exec_of(first);
  for (int i = 0; i < 2; ++i) {
    set_word(to[i], 0);
    set_word(others[i], 0);
  }
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphExecUpdate(exec, second, &info));  // the launch before is not changed by it
  MUST(cuGraphDestroy(second));
  MUST_BE(word_at(to[0]), 1);
  MUST_BE(word_at(others[1]), 0);
  // Nor is this one by what comes after it.
  MUST(cuGraphLaunch(exec, stream));
  CUgraph third = switch_of(1, to, SWITCH, 2);
  MUST(cuGraphExecUpdate(exec, third, &info));
  MUST(cuGraphDestroy(third));
  MUST_BE(word_at(others[1]), 1);
  MUST_BE(word_at(to[1]) + word_at(others[0]), 0);
  MUST_BE(cuGraphExecUpdate(exec, as_if, &info), UPDATE_FAILED);
  MUST_BE(info.result, PARAMETERS_CHANGED);
  MUST_BE(cuGraphExecUpdate(exec, smaller, &info), UPDATE_FAILED);
  // As many nodes, in other bodies.
  CUgraphExec shifted[2];
  CUgraph uneven[2];
  for (unsigned i = 0; i < 2; ++i) {
    uneven[i] = new_graph();
    CUgraph *bodies = choice_in(uneven[i], handle_of(uneven[i], 0, 0), SWITCH, 2, NULL, 0, NULL);
    for (unsigned k = 0; k < 3; ++k)
      kernel_node(bodies[k < 2 ? i : 1 - i], fill, ARGUMENTS(&to[0], &one), NULL, 0);
    shifted[i] = exec_of(uneven[i]);
  }
  MUST_BE(cuGraphExecUpdate(shifted[0], uneven[1], &info), UPDATE_FAILED);
  for (int i = 0; i < 2; ++i) {
    MUST(cuGraphExecDestroy(shifted[i]));
    MUST(cuGraphDestroy(uneven[i]));
  }
  MUST(cuGraphLaunch(exec, stream));
  finish_all();
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(first));
  MUST_BE(sim.races(), 0);
}

// What is no conditional node, and what cannot be in one.
static void check_refused(void) {
  USE_GRAPHS;
  USE_NODES;
  USE_CONDITIONAL_NODES;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuGraphDestroyNode, 10000, CUgraphNode);
  USE(cuGraphChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph *);
  USE(cuStreamBeginCaptureToGraph, 12030, CUstream, CUgraph, const CUgraphNode *, const void *,
      size_t, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  FIND_SIM(simcuda_busy);
  enum { RELAXED = 2 };
  const CUcontext context = current();
  CUcontext second;
  CUgraph graph = new_graph(), child = new_graph(), inside;
  CUgraphExec exec;
  CUgraphNode node, last;
  unsigned long long handle = handle_of(graph, 0, 0);
  Choice choice = choice_of(handle, SWITCH, 2);
  MUST(cuCtxCreate(&second, 0, 0));
  MUST(cuCtxSetCurrent(context));
  choice.context = second;  // the handle is of another one
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &choice), INVALID_VALUE);
  choice.context = NULL;
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &choice), INVALID_CONTEXT);
  choice.context = context;
  choice.size = 1 << 17;
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &choice), OUT_OF_MEMORY);
  choice.size = 1;
  MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
  MUST(cuGraphChildGraphNodeGetGraph(node, &inside));
  MUST_BE(cuGraphAddNode(&node, inside, NULL, 0, &choice), INVALID_VALUE);
  // A handle is of one node, as long as that is there.
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &choice));
  MUST_BE(cuGraphAddNode(&last, graph, NULL, 0, &choice), INVALID_VALUE);
  exec = exec_of(graph);
  MUST(cuGraphDestroyNode(node));
  MUST_BE(cuGraphInstantiateWithFlags(&(CUgraphExec){NULL}, graph, 0), INVALID_VALUE);
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &choice));
  MUST(cuGraphExecDestroy(exec));

  // Memory of its own, a kernel of another context, and one of nobody's are not inside.
  USE_MEMORY_NODES;
  Allocation own = allocation_of(64);
  MUST(cuGraphAddMemAllocNode(&last, *choice.bodies, NULL, 0, &own));
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, 0), INVALID_VALUE);
  MUST(cuGraphDestroy(graph));
  graph = new_graph();
  handle = handle_of(graph, 0, 0);
  choice.handle = handle;
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &choice));
  const CUgraph body = *choice.bodies;
  MUST(cuCtxSetCurrent(second));
  const CUfunction of_second = function_in(module_of(kernels), "count");
  last = kernel_node(body, of_second, ARGUMENTS(&x), NULL, 0);
  MUST(cuCtxSetCurrent(context));
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, 0), INVALID_VALUE);
  MUST(cuGraphDestroyNode(last));
  MUST(cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, RELAXED));
  MUST(simcuda_busy(stream, 1));
  MUST(cuStreamEndCapture(stream, &inside));
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, 0), INVALID_VALUE);
  MUST(cuGraphDestroy(graph));
  MUST(cuGraphDestroy(child));
  MUST(cuCtxDestroy(second));
  MUST(cuCtxSetCurrent(context));
}

// Bodies and child graphs are drawn beside the graph.
static void check_drawn(void) {
  USE_GRAPHS;
  USE_NODES;
  USE(cuGraphDebugDotPrint, 11030, CUgraph, const char *, unsigned);
  char path[] = "/tmp/simcuda-XXXXXX", drawn[4096] = "";
  const int file = mkstemp(path);
  CUdeviceptr to[2] = {x, y};
  CUgraph graph = switch_of(0, to, SWITCH, 2), child = new_graph();
  CUgraphNode node;
  MUST_HOLD(file >= 0);
  MUST(cuGraphAddEmptyNode(&node, child, NULL, 0));
  MUST(cuGraphAddEmptyNode(&node, child, &node, 1));
  MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
  MUST(cuGraphDestroy(child));
  MUST(cuGraphDebugDotPrint(graph, path, 0));
  MUST_HOLD(read(file, drawn, sizeof drawn - 1) > 0);
  close(file);
  unlink(path);
  size_t graphs = 0;
  for (const char *at = drawn; (at = strstr(at, "subgraph")); ++at) ++graphs;
  MUST_BE(graphs, 3);
  MUST_HOLD(strstr(drawn, "->") != NULL);
  MUST(cuGraphDestroy(graph));
}

// A launch of it is not captured: the executable graph has one value for all its launches.
static void check_launch_captured(void) {
  USE_CAPTURE;
  USE_GRAPHS;
  CUgraph graph = new_graph(), ended = NULL;
  choice_in(graph, handle_of(graph, 0, 0), IF, 1, NULL, 0, NULL);
  CUgraphExec exec = exec_of(graph);
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST_BE(cuGraphLaunch(exec, stream), NOT_SUPPORTED);
  MUST(cuStreamEndCapture(stream, &ended));
  MUST(cuGraphDestroy(ended));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

// A launch, with something beside it in another stream.
#define LAUNCH MUST(cuGraphLaunch(exec, stream))
static void check_races(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_GRAPHS;
  CUevent event;
  MUST(cuEventCreate(&event, 2));
#define ORDER(first, second)         \
  MUST(cuEventRecord(event, first)); \
  MUST(cuStreamWaitEvent(second, event, 0))
  CUdeviceptr to[2] = {x, y};
  CUgraph graph = switch_of(0, to, SWITCH, 2);
  CUgraphExec exec = exec_of(graph);
  // With what a body really does: the other one does not run.
  RACY(LAUNCH; MUST(cuMemsetD8Async(x, 0, 4, other)););
  RACY(MUST(cuMemsetD8Async(x, 0, 4, other)); LAUNCH;);
  RACE_FREE(LAUNCH; ORDER(stream, other); MUST(cuMemsetD8Async(x, 0, 4, other)););
  RACE_FREE(MUST(cuMemsetD8Async(x, 0, 4, other)); ORDER(other, stream); LAUNCH;);
  RACE_FREE(LAUNCH; MUST(cuMemsetD8Async(y, 0, 4, other)););
  RACE_FREE(LAUNCH; LAUNCH;);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));

  // The node with what is parallel to it in the graph, and with what is not.
  for (int edge = 0; edge < 2; ++edge) {
    graph = new_graph();
    unsigned long long handle = handle_of(graph, 0, ASSIGN_DEFAULT);
    CUgraphNode setter = kernel_node(graph, choose, ARGUMENTS(&handle, &one), NULL, 0);
    choice_in(graph, handle, IF, 1, &setter, (size_t)edge, NULL);
    exec = exec_of(graph);
    if (edge)
      RACE_FREE(LAUNCH; LAUNCH;);
    else
      RACY(LAUNCH;);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
  }

  // Two branches of one body, the first time that it runs and no other.
  for (int edge = 0; edge < 2; ++edge)
    for (int kind = IF; kind <= WHILE; ++kind) {
      graph = new_graph();
      unsigned long long handle = handle_of(graph, 1, ASSIGN_DEFAULT);
      CUgraph body = *choice_in(graph, handle, kind, 1, NULL, 0, NULL);
      CUgraphNode before = kernel_node(body, fill, ARGUMENTS(&x, &one), NULL, 0);
      CUgraphNode last[2] = {kernel_node(body, fill, ARGUMENTS(&x, &one), &before, (size_t)edge)};
      last[1] = kernel_node(body, fill, ARGUMENTS(&y, &one), NULL, 0);
      if (kind == WHILE) kernel_node(body, count_down, ARGUMENTS(&handle, &left), last, 2);
      exec = exec_of(graph);
      if (edge)
        RACE_FREE(set_word(left, 3); LAUNCH;);
      else
        RACY(set_word(left, 3); LAUNCH;);
      MUST(cuGraphExecDestroy(exec));
      MUST(cuGraphDestroy(graph));
    }

  // Two buffers that two branches use by turns.
  unsigned none = 0;
  graph = new_graph();
  unsigned long long handle = handle_of(graph, 1, ASSIGN_DEFAULT);
  CUgraph body = *choice_in(graph, handle, WHILE, 1, NULL, 0, NULL);
  const CUgraphNode both[] = {
      kernel_node(body, swing, ARGUMENTS(&left, &x, &none), NULL, 0),
      kernel_node(body, swing, ARGUMENTS(&left, &x, &one), NULL, 0),
  };
  kernel_node(body, count_down, ARGUMENTS(&handle, &left), both, 2);
  exec = exec_of(graph);
  RACE_FREE(set_word(left, 4); LAUNCH;);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuEventDestroy(event));
}

static void begin(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  const CUmodule module = module_of(kernels);
  fill = function_in(module, "fill");
  count = function_in(module, "count");
  choose = function_in(module, "choose");
  count_down = function_in(module, "count_down");
  swing = function_in(module, "swing");
  MUST(cuMemAlloc(&x, SIZE));
  MUST(cuMemAlloc(&y, SIZE));
  MUST(cuMemAlloc(&left, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
}

// The context has an error afterwards: it is simcuda's limit that ends it, and simcuda's status.
static void loop_for_ever(void) {
  setenv("SIMCUDA_KERNEL_LIMIT", "1", 1);
  begin();
  USE_GRAPHS;
  USE(cuCtxSynchronize, 2000, void);
  CUgraph graph = new_graph();
  CUgraph body = *choice_in(graph, handle_of(graph, 1, ASSIGN_DEFAULT), WHILE, 1, NULL, 0, NULL);
  kernel_node(body, count, ARGUMENTS(&x), NULL, 0);
  CUgraphExec exec = exec_of(graph);
  MUST(cuGraphLaunch(exec, stream));
  MUST_BE(cuCtxSynchronize(), TIMEOUT);
  MUST_BE(cuGraphLaunch(exec, stream), TIMEOUT);
}

// Whatever is looked for, and however long it may take.
static void loop_without_races(void) {
  setenv("SIMCUDA_RACES", "off", 1);
  setenv("SIMCUDA_KERNEL_LIMIT", "0", 1);
  begin();
  check_loops();
  check_value();
  MUST_BE(sim.findings(), 0);
}

// The kernel inside is what has run for too long, and the node is not told of, too.
static void stop_inside(void) {
  setenv("SIMCUDA_KERNEL_LIMIT", "1", 1);
  begin();
  USE_GRAPHS;
  USE(cuCtxSynchronize, 2000, void);
  const CUfunction spin = function_in(
      module_of(PTX_HEADER ".visible .entry spin()\n{\nAGAIN:\n  bra AGAIN;\n}\n"), "spin");
  CUgraph graph = new_graph();
  CUgraph body = *choice_in(graph, handle_of(graph, 1, ASSIGN_DEFAULT), WHILE, 1, NULL, 0, NULL);
  kernel_node(body, spin, NULL, NULL, 0);
  MUST(cuGraphLaunch(exec_of(graph), stream));
  MUST_BE(cuCtxSynchronize(), TIMEOUT);
  MUST_BE(sim.findings(), 1);
}

// What a body's kernel does wrong ends the body; nothing of it runs after that.
static void fault_inside(void) {
  begin();
  USE_GRAPHS;
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  CUgraph graph = new_graph();
  CUgraph body = *choice_in(graph, handle_of(graph, 1, ASSIGN_DEFAULT), WHILE, 1, NULL, 0, NULL);
  CUdeviceptr nowhere = 4;
  unsigned *word;
  MUST(cuMemHostAlloc((void **)&word, 4, 0));
  *word = 0;
  CUgraphNode bad = kernel_node(body, count, ARGUMENTS(&nowhere), NULL, 0);
  kernel_node(body, count, ARGUMENTS(&word), &bad, 1);
  CUgraphExec exec = exec_of(graph);
  MUST(cuGraphLaunch(exec, stream));
  MUST_BE(cuCtxSynchronize(), ILLEGAL_ADDRESS);
  MUST_BE(*word, 0);
  MUST_BE(sim.findings(), 1);
}

// A kernel that sets what is no handle, and one that reports a race by the handle's name.
static void set_no_handle(void) {
  begin();
  USE(cuCtxSynchronize, 2000, void);
  unsigned long long handle = 4;
  MUST(launch(choose, 1, 1, stream, ARGUMENTS(&handle, &one)));
  MUST_BE(cuCtxSynchronize(), ILLEGAL_ADDRESS);
}

// A graph outlives the context that its handle was made for; nothing of it is anybody else's.
static void end_context(void) {
  begin();
  USE_MEMORY;
  USE_GRAPHS;
  USE_NODES;
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  CUgraph graph = new_graph();
  unsigned long long handle = handle_of(graph, 1, ASSIGN_DEFAULT);
  CUgraphNode node;
  MUST(cuGraphAddEmptyNode(&node, *choice_in(graph, handle, IF, 1, NULL, 0, NULL), NULL, 0));
  CUgraphExec exec = exec_of(graph);
  MUST_BE(cuMemFree(handle), INVALID_VALUE);
  MUST(cuDevicePrimaryCtxReset(0));
  CUdeviceptr again[64];
  start();
  for (int i = 0; i < 64; ++i) {
    MUST(cuMemAlloc(&again[i], 4));
    MUST(cuMemsetD8Async(again[i], 0, 4, LEGACY));
  }
  MUST(cuGraphLaunch(exec, LEGACY));
  for (int i = 0; i < 64; ++i) MUST_BE(word_at(again[i]), 0);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

static void set_beside(void) {
  setenv("SIMCUDA_RACES", "log", 1);
  begin();
  CUgraph graph = new_graph();
  unsigned long long handle = handle_of(graph, 0, ASSIGN_DEFAULT);
  kernel_node(graph, choose, ARGUMENTS(&handle, &one), NULL, 0);
  choice_in(graph, handle, IF, 1, NULL, 0, NULL);
  USE_GRAPHS;
  MUST(cuGraphLaunch(exec_of(graph), stream));
  finish_all();
}

// Exit handlers may load modules, even those that were added before the first module was loaded.
static void load_late(void) { (void)module_of(kernels); }

static void end_late(void) {
  MUST_BE(atexit(load_late), 0);
  begin();
}

int main(void) {
  run_apart(end_late);
  run_apart(loop_for_ever);
  must_say("simcuda: fault: A conditional node has run a body of a while");
  must_say("1 seconds, which is what SIMCUDA_KERNEL_LIMIT allows");
  must_say("cuGraphLaunch on non-blocking stream");
  run_apart(loop_without_races);
  run_apart(stop_inside);
  must_say("Kernel spin: it was stopped");
  run_apart(fault_inside);
  must_say("simcuda: fault: Kernel count: thread (0, 0, 0) of block (0, 0, 0)");
  run_apart(set_no_handle);
  must_say("writes 4 bytes at address 0x4, where it has no memory");
  must_say("cudaGraphSetConditional");
  run_apart(end_context);
  run_apart(set_beside);
  must_say("(kernel choose) (operation 2) writes by parameter 1 (handle)");
  must_say("(conditional if) (operation 3) reads");
  must_say("of the value of conditional handle 0x");
  begin();
  check_captured();
  check_loops();
  check_value();
  check_update();
  check_refused();
  check_drawn();
  check_launch_captured();
  check_races();
  MUST_BE(sim.findings(), 0);
  check_stand_in();
  return 0;
}
