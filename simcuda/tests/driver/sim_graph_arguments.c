// SPDX-License-Identifier: BSD-3-Clause
// What the functions of graphs are asked with little room or none, with data of edges, and in a
// capture; and what they refuse, each for its own reason.
#include "graphs.h"

enum { EMPTY = 5, RECORD = 7, AUTO_FREE = 1, UPLOAD = 2, DEVICE_LAUNCH = 4, INVALID_FLAG = 64 };

typedef struct {
  unsigned char bytes[8];
} EdgeData;

typedef struct {
  uint64_t flags;
  CUstream stream;
  CUgraphNode error_node;
  int result;
} Instantiation;

typedef HostCall HostNode;

static CUcontext context;

static void check_queries(void) {
  USE_GRAPHS;
  USE_EVENTS;
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphAddEventRecordNode, 11010, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      CUevent);
  USE(cuGraphAddHostNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const HostNode *);
  USE(cuGraphClone, 10000, CUgraph *, CUgraph);
  USE(cuGraphNodeFindInClone, 10000, CUgraphNode *, CUgraphNode, CUgraph);
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  USE(cuGraphEventRecordNodeGetEvent, 11010, CUgraphNode, CUevent *);
  USE(cuGraphEventWaitNodeGetEvent, 11010, CUgraphNode, CUevent *);
  CUresult (*add_edges)(CUgraph, const CUgraphNode *, const CUgraphNode *, const EdgeData *,
                        size_t);
  CUresult (*edges)(CUgraph, CUgraphNode *, CUgraphNode *, EdgeData *, size_t *);
  CUresult (*before)(CUgraphNode, CUgraphNode *, EdgeData *, size_t *);
  CUresult (*after)(CUgraphNode, CUgraphNode *, EdgeData *, size_t *);
  *(void **)&add_edges = find("cuGraphAddDependencies", 12030);
  *(void **)&edges = find("cuGraphGetEdges", 12030);
  *(void **)&before = find("cuGraphNodeGetDependencies", 12030);
  *(void **)&after = find("cuGraphNodeGetDependentNodes", 12030);
  static const EdgeData plain[2], programmatic[2] = {{{1}}, {{1}}};
  EdgeData data[2];
  CUgraph graph, other, clone;
  CUgraphNode nodes[3], record, found, from[2], to[2];
  CUevent event, its_event = NULL;
  const HostNode no_function = {NULL, NULL};
  size_t count = 2;
  int type = 0, i;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&other, 0));
  for (i = 0; i < 3; ++i) MUST(cuGraphAddEmptyNode(&nodes[i], graph, NULL, 0));

  // Edges: of this graph, each once, in both lists, with no data of their own.
  CUgraphNode twice_from[] = {nodes[0], nodes[0]}, twice_to[] = {nodes[1], nodes[1]};
  MUST_BE(add_edges(other, nodes, nodes + 1, plain, 1), INVALID_VALUE);
  MUST_BE(add_edges(graph, twice_from, twice_to, plain, 2), INVALID_VALUE);
  MUST_BE(add_edges(graph, nodes, nodes + 1, programmatic, 1), NOT_SUPPORTED);
  MUST_BE(add_edges(graph, NULL, nodes + 1, NULL, 1), INVALID_VALUE);
  MUST_BE(add_edges(graph, nodes, NULL, NULL, 1), INVALID_VALUE);
  MUST(edges(graph, NULL, NULL, NULL, &count));
  MUST_BE(count, 0);
  MUST(add_edges(graph, nodes, nodes + 1, plain, 2));
  MUST(edges(graph, NULL, NULL, NULL, &count));
  MUST_BE(count, 2);
  MUST_BE(edges(graph, from, NULL, NULL, &count), INVALID_VALUE);
  MUST_BE(edges(graph, NULL, to, NULL, &count), INVALID_VALUE);
  MUST_BE(edges(graph, NULL, NULL, data, &count), INVALID_VALUE);
  MUST_BE(edges(graph, from, to, data, NULL), INVALID_VALUE);
  memset(data, 1, sizeof data);
  MUST(edges(graph, from, to, data, &count));
  MUST_BE(memcmp(data, plain, sizeof data), 0);
  MUST_BE(from[0] == nodes[0] && to[0] == nodes[1], 1);

  // Neighbours.
  memset(data, 1, sizeof data);
  MUST_BE(before(nodes[1], NULL, data, &count), INVALID_VALUE);
  MUST_BE(after(nodes[0], NULL, data, &count), INVALID_VALUE);
  MUST(before(nodes[1], &found, data, &count));
  MUST_BE(count == 1 && found == nodes[0] && data[0].bytes[0] == 0, 1);
  memset(data, 1, sizeof data);
  count = 2;
  MUST(after(nodes[1], from, data, &count));
  MUST_BE(count == 1 && from[0] == nodes[2] && data[0].bytes[0] == 0, 1);
  MUST(before(nodes[2], NULL, NULL, &count));
  MUST_BE(count, 1);
  MUST(after(nodes[2], NULL, NULL, &count));
  MUST_BE(count, 0);

  // Nodes of one kind, taken for those of another.
  MUST(cuEventCreate(&event, 0));
  MUST(cuGraphAddEventRecordNode(&record, other, NULL, 0, event));
  MUST(cuGraphNodeGetType(record, &type));
  MUST_BE(type, RECORD);
  MUST(cuGraphNodeGetType(nodes[0], &type));
  MUST_BE(type, EMPTY);
  MUST(cuGraphEventRecordNodeGetEvent(record, &its_event));
  MUST_BE(its_event == event, 1);
  MUST_BE(cuGraphEventRecordNodeGetEvent(nodes[0], &its_event), INVALID_VALUE);
  MUST_BE(cuGraphEventWaitNodeGetEvent(record, &its_event), INVALID_VALUE);
  MUST_BE(cuGraphAddHostNode(&found, graph, NULL, 0, &no_function), INVALID_VALUE);

  // A clone has nodes of its own.
  MUST(cuGraphClone(&clone, graph));
  MUST(cuGraphNodeFindInClone(&found, nodes[1], clone));
  MUST_BE(found != nodes[1], 1);
  MUST_BE(cuGraphNodeFindInClone(&found, record, clone), INVALID_VALUE);
  MUST(cuGraphDestroy(clone));
  MUST(cuGraphDestroy(other));
  MUST(cuGraphDestroy(graph));
  MUST(cuEventDestroy(event));
}

static void check_instantiation(void) {
  USE_GRAPHS;
  USE_STREAMS;
  USE_NODES;
  USE(cuGraphInstantiateWithParams, 12000, CUgraphExec *, CUgraph, Instantiation *);
  USE(cuGraphExecGetFlags, 12000, CUgraphExec, uint64_t *);
  USE(cuGraphUpload, 11010, CUgraphExec, CUstream);
  CUresult (*instantiate)(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
  *(void **)&instantiate = find("cuGraphInstantiate", 11000);
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node = NULL;
  CUstream stream;
  uint64_t flags = 7;
  char log[4] = "abc";
  Instantiation with = {UPLOAD, NULL, NULL, 7};
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddEmptyNode(&node, graph, NULL, 0));
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, INVALID_FLAG), INVALID_VALUE);
  // A device could launch neither empty nodes nor a graph that frees on request.
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, DEVICE_LAUNCH), NOT_SUPPORTED);
  MUST_BE(cuGraphInstantiateWithFlags(&exec, graph, DEVICE_LAUNCH | AUTO_FREE), INVALID_VALUE);

  // It could launch memset, and graphs of it.
  USE_MEMORY;
  CUgraph memset_graph, parent;
  CUdeviceptr data;
  CUgraphNode fill, child;
  MUST(cuMemAlloc(&data, 4));
  MUST(cuGraphCreate(&memset_graph, 0));
  MUST(cuGraphCreate(&parent, 0));
  MUST(cuGraphAddMemsetNode(&fill, memset_graph, NULL, 0, &(Fill){data, 0, 1, 1, 4, 1}, context));
  MUST(cuGraphAddChildGraphNode(&child, parent, NULL, 0, memset_graph));
  MUST(cuGraphInstantiateWithFlags(&exec, parent, DEVICE_LAUNCH));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphAddEmptyNode(&fill, memset_graph, NULL, 0));
  MUST(cuGraphAddChildGraphNode(&child, parent, NULL, 0, memset_graph));
  MUST_BE(cuGraphInstantiateWithFlags(&exec, parent, DEVICE_LAUNCH), NOT_SUPPORTED);
  MUST(cuGraphDestroy(memset_graph));
  MUST(cuGraphDestroy(parent));

  MUST(instantiate(&exec, graph, &node, log, sizeof log));
  MUST_BE(node == NULL && log[0] == 0, 1);
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphUpload(exec, stream));  // after the launch
  MUST(cuGraphExecDestroy(exec));
  log[0] = 'a';
  MUST(instantiate(&exec, graph, NULL, NULL, 0));
  MUST(cuGraphExecDestroy(exec));
  MUST(instantiate(&exec, graph, NULL, log, 0));
  MUST_BE(log[0], 'a');
  MUST(cuGraphExecDestroy(exec));

  with.stream = stream;
  MUST(cuGraphInstantiateWithParams(&exec, graph, &with));
  MUST_BE(with.result, 0);
  MUST(cuGraphExecGetFlags(exec, &flags));
  MUST_BE(flags, UPLOAD);
  MUST(cuGraphExecDestroy(exec));
  with.flags = 0;
  MUST(cuGraphInstantiateWithParams(&exec, graph, &with));
  MUST(cuGraphExecDestroy(exec));
  with.flags = INVALID_FLAG;
  MUST_BE(cuGraphInstantiateWithParams(&exec, graph, &with), INVALID_VALUE);
  MUST_BE(with.result, 1);
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamDestroy(stream));
  MUST(cuGraphDestroy(graph));
}

// A graph that is being captured is no child yet, and stays; what it has so far can be instantiated
// (an H200 refused that here, where it has no nodes, and took it where it had some).
static void check_captured(void) {
  USE_GRAPHS;
  USE_STREAMS;
  USE(cuGraphAddChildGraphNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      CUgraph);
  USE(cuStreamBeginCaptureToGraph, 12030, CUstream, CUgraph, const CUgraphNode *, const EdgeData *,
      size_t, int);
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphDestroyNode, 10000, CUgraphNode);
  USE(cuGraphRemoveDependencies, 10000, CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
  CUresult (*begin)(CUstream, int);
  *(void **)&begin = find("cuStreamBeginCapture", 10010);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  enum { GLOBAL, RELAXED = 2, NO_MODE = 3 };
  CUgraph graph, other, ended = NULL;
  CUgraphExec exec;
  CUgraphNode node;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&other, 0));
  MUST_BE(begin(stream, -1), INVALID_VALUE);
  MUST_BE(begin(stream, NO_MODE), INVALID_VALUE);
  MUST_BE(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, NO_MODE), INVALID_VALUE);
  MUST(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, RELAXED));
  MUST_BE(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, RELAXED) != 0, 1);
  MUST_BE(cuGraphDestroy(graph), ILLEGAL_STATE);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphExecDestroy(exec));
  MUST_BE(cuGraphAddChildGraphNode(&node, other, NULL, 0, graph), NOT_SUPPORTED);
  MUST(cuGraphAddEmptyNode(&node, graph, NULL, 0));
  MUST_BE(cuGraphDestroyNode(node), INVALID_VALUE);
  MUST(cuStreamEndCapture(stream, &ended));
  MUST_BE(ended == graph, 1);
  MUST(cuGraphAddChildGraphNode(&node, other, NULL, 0, graph));
  MUST(cuGraphRemoveDependencies(other, NULL, NULL, 0));
  MUST(cuGraphDestroy(other));
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
}

static int calls;

static void destroyed(void *unused) {
  (void)unused;
  __atomic_store_n(&calls, calls + 1, __ATOMIC_SEQ_CST);
}

// A graph releases what it holds, and no more: a driver accepts more, which is undefined.
static void check_user_objects(void) {
  USE_GRAPHS;
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuUserObjectRelease, 11030, CUuserObject, unsigned);
  USE(cuGraphRetainUserObject, 11030, CUgraph, CUuserObject, unsigned, unsigned);
  USE(cuGraphReleaseUserObject, 11030, CUgraph, CUuserObject, unsigned);
  enum { NO_SYNC = 1, MOVE = 1 };
  CUgraph graph;
  CUuserObject object, other;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuUserObjectCreate(&object, NULL, destroyed, 0x80000000u, NO_SYNC));
  MUST(cuUserObjectCreate(&object, NULL, destroyed, 2, NO_SYNC));
  MUST(cuUserObjectCreate(&other, NULL, destroyed, 1, NO_SYNC));
  USE(cuUserObjectRetain, 11030, CUuserObject, unsigned);
  CUuserObject none;
  MUST_BE(cuUserObjectCreate(&none, NULL, NULL, 1, NO_SYNC), INVALID_VALUE);
  MUST_BE(cuUserObjectRetain(other, 0x80000000u), INVALID_VALUE);
  MUST_BE(cuUserObjectRetain(other, 0), INVALID_VALUE);
  MUST(cuGraphRetainUserObject(graph, object, 2, MOVE));
  MUST_BE(cuGraphReleaseUserObject(graph, other, 1), INVALID_VALUE);
  MUST_BE(cuGraphReleaseUserObject(graph, object, 3), INVALID_VALUE);
  MUST(cuGraphReleaseUserObject(graph, object, 1));
  MUST_BE(__atomic_load_n(&calls, __ATOMIC_SEQ_CST), 0);
  MUST(cuGraphReleaseUserObject(graph, object, 1));
  while (__atomic_load_n(&calls, __ATOMIC_SEQ_CST) == 0) usleep(1000);
  MUST_BE(cuGraphReleaseUserObject(graph, object, 1), INVALID_VALUE);
  MUST(cuUserObjectRelease(other, 1));
  MUST(cuGraphDestroy(graph));
}

static int turns[2], turn;

static void take_turn(void *mine) { *(int *)mine = ++turn; }

// A child without nodes passes the order on.
static void check_empty_child(void) {
  USE_MEMORY;
  USE_GRAPHS;
  USE_STREAMS;
  USE(cuGraphAddChildGraphNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      CUgraph);
  USE(cuGraphAddHostNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const HostNode *);
  const HostNode first_call = {take_turn, &turns[0]}, last_call = {take_turn, &turns[1]};
  CUgraph graph, child;
  CUgraphExec exec;
  CUgraphNode first, middle, last;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&child, 0));
  MUST(cuGraphAddHostNode(&first, graph, NULL, 0, &first_call));
  MUST(cuGraphAddChildGraphNode(&middle, graph, &first, 1, child));
  MUST(cuGraphAddHostNode(&last, graph, &middle, 1, &last_call));
  const CUgraphNode twice[] = {first, first};
  MUST_BE(cuGraphAddHostNode(&last, graph, twice, 2, &last_call), INVALID_VALUE);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(turns[0] == 1 && turns[1] == 2, 1);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(child));
  MUST(cuGraphDestroy(graph));
}

// What is captured of a launch has the nodes of graphs inside as its own, and one that ends each.
static void check_captured_launch(void) {
  USE_CAPTURE;
  USE_GRAPHS;
  USE_NODES;
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  USE(cuGraphChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph *);
  const HostNode first_call = {take_turn, &turns[0]}, last_call = {take_turn, &turns[1]};
  CUgraph graph, child, captured = NULL, inside;
  CUgraphExec exec;
  CUgraphNode node, nodes[4];
  CUstream stream;
  size_t count = 4;
  int type = 0, of_host = 0, empty = 0;
  enum { HOST_TYPE = 3 };
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&child, 0));
  MUST(cuGraphAddHostNode(&node, child, NULL, 0, &first_call));
  MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
  MUST(cuGraphAddHostNode(&node, graph, &node, 1, &last_call));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamEndCapture(stream, &captured));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphGetNodes(captured, &node, &(size_t){1}));
  MUST(cuGraphChildGraphNodeGetGraph(node, &inside));
  MUST(cuGraphGetNodes(inside, nodes, &count));
  MUST_BE(count, 3);
  for (size_t i = 0; i < count; ++i) {
    MUST(cuGraphNodeGetType(nodes[i], &type));
    of_host += type == HOST_TYPE, empty += type == EMPTY;
  }
  MUST_BE(of_host == 2 && empty == 1, 1);
  turn = 0;
  MUST(cuGraphInstantiateWithFlags(&exec, captured, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(turns[0] == 1 && turns[1] == 2, 1);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(captured));
  MUST(cuGraphDestroy(child));
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
}

// An event that was never recorded is waited for by nobody.
static void check_unrecorded(void) {
  USE_GRAPHS;
  USE_EVENTS;
  USE_STREAMS;
  USE(cuGraphAddEventWaitNode, 11010, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
  CUevent event;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  MUST(cuEventCreate(&event, 0));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddEventWaitNode(&node, graph, NULL, 0, event));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuEventDestroy(event));
}

static CUresult updated(CUgraphExec exec, CUgraph graph, int *why) {
  USE(cuGraphExecUpdate, 12000, CUgraphExec, CUgraph, void *);
  struct {
    int result;
    CUgraphNode node, from;
  } info = {0};
  const CUresult status = cuGraphExecUpdate(exec, graph, &info);
  *why = info.result;
  return status;
}

// Three memset nodes, of which the second and the third each come after one before them, or none.
static CUgraph chain_of(CUdeviceptr data, int before_second, int before_third) {
  USE_GRAPHS;
  USE_NODES;
  CUgraph graph;
  CUgraphNode nodes[3];
  const int before[] = {-1, before_second, before_third};
  MUST(cuGraphCreate(&graph, 0));
  for (int i = 0; i < 3; ++i) {
    const Fill fill = fill_of(data, (unsigned)i, 1);
    MUST(cuGraphAddMemsetNode(&nodes[i], graph, before[i] < 0 ? NULL : &nodes[before[i]],
                              before[i] >= 0, &fill, context));
  }
  return graph;
}

// What cannot become of an executable graph: other edges, memory of its own, and what it could not
// have been made of.
static void check_updates(void) {
  USE_MEMORY;
  USE_GRAPHS;
  USE_NODES;
  USE_MEMORY_NODES;
  enum { UPDATE_FAILED = 910, TOPOLOGY_CHANGED = 2, NOT_SUPPORTED_THERE = 6 };
  CUresult (*first_form)(CUgraphExec, CUgraph, CUgraphNode *, int *);
  *(void **)&first_form = find("cuGraphExecUpdate", 10020);
  CUdeviceptr data;
  int why = 7;
  MUST(cuMemAlloc(&data, 64));
  CUgraph graph = chain_of(data, 0, 1), same = chain_of(data, 0, 1);
  CUgraph fewer = chain_of(data, 0, -1), others = chain_of(data, 0, 0);
  CUgraphExec exec;
  CUgraphNode node, of_error = (CUgraphNode)1;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(updated(exec, same, &why));  // which has not been launched
  MUST_BE(why, 0);
  MUST_BE(updated(exec, fewer, &why), UPDATE_FAILED);
  MUST_BE(why, TOPOLOGY_CHANGED);
  MUST_BE(updated(exec, others, &why), UPDATE_FAILED);
  MUST_BE(why, TOPOLOGY_CHANGED);
  MUST(first_form(exec, same, &of_error, &why));
  MUST_BE(of_error == NULL && why == 0, 1);
  MUST_BE(first_form(exec, others, &of_error, &why), UPDATE_FAILED);
  MUST_BE(of_error != NULL && why == TOPOLOGY_CHANGED, 1);
  MUST_BE(first_form(exec, others, NULL, &why), UPDATE_FAILED);
  MUST_BE(first_form(exec, others, NULL, NULL), INVALID_VALUE);
  MUST(cuGraphExecDestroy(exec));

  // A device launches no host functions.
  const HostNode call = {take_turn, &turns[0]};
  MUST(cuGraphInstantiateWithFlags(&exec, graph, DEVICE_LAUNCH));
  MUST(updated(exec, same, &why));
  MUST(cuGraphAddHostNode(&node, same, NULL, 0, &call));
  MUST_BE(updated(exec, same, &why), INVALID_VALUE);
  MUST(cuGraphExecDestroy(exec));

  CUgraph own[2];
  for (int i = 0; i < 2; ++i) {
    Allocation wanted = allocation_of(64);
    MUST(cuGraphCreate(&own[i], 0));
    MUST(cuGraphAddMemAllocNode(&node, own[i], NULL, 0, &wanted));
    MUST(cuGraphAddMemFreeNode(&node, own[i], &node, 1, wanted.address));
  }
  MUST(cuGraphInstantiateWithFlags(&exec, own[0], 0));
  MUST_BE(updated(exec, own[1], &why), UPDATE_FAILED);
  MUST_BE(why, NOT_SUPPORTED_THERE);
  MUST(cuGraphExecDestroy(exec));
  CUgraph parent;
  USE(cuGraphExecChildGraphNodeSetParams, 11010, CUgraphExec, CUgraphNode, CUgraph);
  MUST(cuGraphCreate(&parent, 0));
  MUST(cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
  MUST(cuGraphInstantiateWithFlags(&exec, parent, 0));
  MUST_BE(cuGraphExecChildGraphNodeSetParams(exec, node, own[0]), NOT_SUPPORTED);
  MUST(cuGraphExecDestroy(exec));
  CUgraph all[] = {parent, own[0], own[1], graph, same, fewer, others};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) MUST(cuGraphDestroy(all[i]));
  MUST(cuMemFree(data));
}

// What cuGraphAddNode makes no node of.
static void check_nodes_refused(void) {
  USE_MEMORY;
  USE_GRAPHS;
  USE(cuGraphAddNode, 12020, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, Node *);
  USE_SIM(uint64_t, simcuda_unsupported, void);
  enum { COPY = 1, CHILD = 4, SIGNAL = 8, ALLOCATION = 10, COPIED = 0, MOVED = 1 };
  CUgraph graph, inner;
  CUgraphExec exec;
  CUgraphNode node;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&inner, 0));
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &(Node){.type = -1}), INVALID_VALUE);
  const uint64_t before = simcuda_unsupported();
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &(Node){.type = SIGNAL}), NOT_SUPPORTED);
  MUST_BE(simcuda_unsupported(), before + 1);
  Node copy = {.type = COPY, .of.copy = {.flags = 1, .copy = copy_of(data, data, 32)}};
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &copy), INVALID_VALUE);

  // A graph is no part of itself, however deep.
  Node child = {.type = CHILD, .of.child = {graph, COPIED}};
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &child), INVALID_VALUE);
  child.of.child.ownership = 2;
  child.of.child.graph = inner;
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &child), INVALID_VALUE);
  child.of.child.ownership = MOVED;
  MUST_BE(cuGraphAddNode(&node, graph, &node, 1, &child), INVALID_VALUE);  // which is no node
  MUST(cuGraphInstantiateWithFlags(&exec, inner, 0));
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &child), INVALID_VALUE);  // it is instantiated
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphAddNode(&node, graph, NULL, 0, &child));
  child.of.child.graph = graph;
  MUST_BE(cuGraphAddNode(&node, inner, NULL, 0, &child), INVALID_VALUE);
  // What has no parameters is not changed, nor is a child by its node.
  USE(cuGraphNodeSetParams, 12020, CUgraphNode, Node *);
  CUgraph plain;
  CUgraphNode empty;
  Node of_child = {.type = CHILD, .of.child = {inner, COPIED}}, of_empty = {.type = EMPTY};
  MUST(cuGraphCreate(&plain, 0));
  MUST(cuGraphAddNode(&empty, graph, NULL, 0, &of_empty));
  MUST_BE(cuGraphNodeSetParams(empty, &of_empty), NOT_SUPPORTED);
  of_child.of.child.graph = plain;
  MUST_BE(cuGraphNodeSetParams(node, &of_child), NOT_SUPPORTED);
  // Nor is a child's copy moved.
  USE(cuGraphChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph *);
  CUgraph outer, copied, deeper;
  MUST(cuGraphCreate(&outer, 0));
  MUST(cuGraphCreate(&deeper, 0));
  child.of.child = (__typeof__(child.of.child)){deeper, COPIED};
  MUST(cuGraphAddNode(&node, outer, NULL, 0, &child));
  MUST(cuGraphChildGraphNodeGetGraph(node, &copied));
  child.of.child = (__typeof__(child.of.child)){copied, MOVED};
  MUST_BE(cuGraphAddNode(&node, graph, NULL, 0, &child), INVALID_VALUE);
  // However far inside of it the other one is, and whatever else is there.
  child.of.child.graph = deeper;
  MUST(cuGraphAddNode(&node, inner, NULL, 0, &child));
  child.of.child.graph = outer;
  MUST(cuGraphAddNode(&node, deeper, NULL, 0, &child));
  child.of.child.graph = graph;
  MUST_BE(cuGraphAddNode(&node, outer, NULL, 0, &child), INVALID_VALUE);
  child.of.child.ownership = COPIED;
  MUST(cuGraphAddNode(&node, inner, NULL, 0, &child));  // a copy of what is there so far
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuMemFree(data));
}

// Memory of a graph: where, of what kind, and for whom.
static void check_memory_refused(void) {
  USE_GRAPHS;
  USE_MEMORY_NODES;
  USE_MEMORY;
  USE_NODES;
  USE(cuGraphMemAllocNodeGetParams, 11040, CUgraphNode, Allocation *);
  USE(cuMemFreeHost, 2000, void *);
  enum { PINNED = 1, MANAGED = 2, NOWHERE = 0, DEVICE = 1, HOST = 2, NUMA = 3, UNKNOWN = 5 };
  static const struct {
    int type, handles, place, id;
    CUresult status;
  } kinds[] = {
      {PINNED, 0, DEVICE, 1, SUCCESS},         {PINNED, 0, DEVICE, 99, INVALID_DEVICE},
      {PINNED, 0, HOST, 0, SUCCESS},           {PINNED, 0, NUMA, 0, SUCCESS},
      {PINNED, 0, UNKNOWN, 0, INVALID_VALUE},  {PINNED, 0, NOWHERE, 0, INVALID_VALUE},
      {PINNED, 1, DEVICE, 0, INVALID_VALUE},  // memory of graphs is not shared
      {MANAGED, 0, DEVICE, 0, SUCCESS},        {MANAGED, 0, NOWHERE, 0, SUCCESS},
      {MANAGED, 0, UNKNOWN, 0, INVALID_VALUE}, {3, 0, DEVICE, 0, INVALID_VALUE},
  };
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    Allocation wanted = allocation_of(64);
    wanted.pool.type = kinds[i].type;
    wanted.pool.handles = kinds[i].handles;
    wanted.pool.location_type = kinds[i].place;
    wanted.pool.location_id = kinds[i].id;
    MUST(cuGraphCreate(&graph, 0));
    MUST_BE(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wanted), kinds[i].status);
    if (kinds[i].status == SUCCESS) {
      // It is there once the graph has run, and the host reads what it may.
      unsigned char byte = 0;
      const Fill fill = fill_of(wanted.address, 7, 64);
      MUST(cuGraphAddMemsetNode(&node, graph, &node, 1, &fill, context));
      MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
      MUST(cuGraphLaunch(exec, LEGACY));
      MUST(cuMemcpyDtoH(&byte, wanted.address + 63, 1));
      MUST_BE(byte, 7);
      MUST_BE(cuMemFreeHost((void *)(uintptr_t)wanted.address), INVALID_VALUE);
      MUST_BE(cuMemFree(wanted.address), SUCCESS);
      MUST(cuGraphExecDestroy(exec));
    }
    MUST(cuGraphDestroy(graph));
  }

  static const struct {
    MemoryAccess access;
    CUresult status;
  } accesses[] = {
      {{{DEVICE, 1}, 3}, SUCCESS},
      {{{DEVICE, 1}, 1}, INVALID_VALUE},
      {{{HOST, 0}, 3}, INVALID_VALUE},
      {{{DEVICE, 99}, 3}, INVALID_DEVICE},
  };
  MUST(cuGraphCreate(&graph, 0));
  for (size_t i = 0; i < sizeof accesses / sizeof *accesses; ++i) {
    Allocation wanted = allocation_of(64), told;
    wanted.access = &accesses[i].access;
    wanted.access_count = 1;
    MUST_BE(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wanted), accesses[i].status);
    if (accesses[i].status) continue;
    MUST(cuGraphMemAllocNodeGetParams(node, &told));
    MUST_BE(told.access_count, 1);
    MUST_HOLD(told.access != wanted.access && told.access->location.id == 1);
  }
  Allocation without = allocation_of(64);
  without.access_count = 1;
  MUST_BE(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &without), INVALID_VALUE);
  MUST(cuGraphDestroy(graph));
}

int main(void) {
  context = start();
  check_nodes_refused();
  check_memory_refused();
  check_updates();
  check_unrecorded();
  check_user_objects();
  check_empty_child();
  check_captured_launch();
  check_queries();
  check_instantiation();
  check_captured();
  return 0;
}
