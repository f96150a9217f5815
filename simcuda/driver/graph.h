// SPDX-License-Identifier: BSD-3-Clause
// Graphs: nodes and edges, captured or made one by one; executable graphs; and the objects that a
// graph keeps alive.
#pragma once

#include <list>
#include <variant>

#include "driver.h"

namespace simcuda {

// An object of the client that graphs keep alive. Its destructor is called once it has no
// references.
struct UserObject {
  CUuserObject handle = nullptr;
  CUhostFn destroy = nullptr;
  void *data = nullptr;
  std::uint64_t of_callers = 0, of_graphs = 0;  // references
  std::vector<OperationPtr> launches;           // the last of each executable graph that held it
};

// Ends an object without references: on a thread of the driver,
void end_if_unused(Driver &driver, UserObject &object);
// or on the thread whose call gives up the last reference (a release, the destruction of a graph or
// of what was made from it), before the call returns.
void end_if_unused(Driver &driver, UserObject &object, ThreadState &caller);

// While one exists, references are given up on behalf of the calling thread.
class EndsHere {
 public:
  explicit EndsHere(ThreadState &thread) : thread_(thread) { thread_.ends_user_objects = true; }
  ~EndsHere() { thread_.ends_user_objects = false; }
  EndsHere(const EndsHere &) = delete;
  EndsHere &operator=(const EndsHere &) = delete;

 private:
  ThreadState &thread_;
};

// The references of one graph.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences &other);
  UserReferences &operator=(const UserReferences &) = delete;
  ~UserReferences();
  void add(const std::shared_ptr<UserObject> &object, std::uint64_t count);
  void add(const UserReferences &other);
  bool remove(const std::shared_ptr<UserObject> &object, std::uint64_t count, ThreadState &caller);
  void held_until(const OperationPtr &launch) const;

 private:
  std::map<std::shared_ptr<UserObject>, std::uint64_t> counts_;
};

// Memory that a graph allocates. Its address stays reserved while the graph, anything launched from
// it, or memory that it allocated and nobody freed exists.
struct GraphMemory {
  explicit GraphMemory(AllocationPtr memory) : allocation(std::move(memory)) {}
  GraphMemory(const GraphMemory &) = delete;
  GraphMemory &operator=(const GraphMemory &) = delete;
  ~GraphMemory();

  AllocationPtr allocation;
  std::weak_ptr<GraphNode> allocated_by;
  std::vector<std::weak_ptr<GraphNode>> freed_by;  // may be in several graphs
  bool freed_in_graph = false;                     // by the graph that allocates it
  // Allocated by a launch, and not freed: it then keeps itself alive.
  std::shared_ptr<GraphMemory> outstanding;
  OperationPtr last_use;     // the last allocation or free
  std::uint64_t backed = 0;  // bytes that count as used
};

// The client's parameters of a node, or those that a captured node would have had. Those of a
// kernel are in its launch.
struct NodeParameters {
  std::variant<std::monostate, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUDA_HOST_NODE_PARAMS,
               CUDA_MEM_ALLOC_NODE_PARAMS>
      of;
  std::shared_ptr<Context> context;     // of a copy or a memset
  std::vector<CUmemAccessDesc> access;  // to allocated memory
};

// What a node does at each launch. Changing a node replaces this, so that executable graphs that
// exist already do not change.
struct NodeWork {
  const char *what = "";
  std::vector<Access> accesses;
  std::function<void()> run, host_function;
  std::shared_ptr<const KernelLaunch> launch;
  std::shared_ptr<const Conditional> conditional;
  std::uint64_t duration_ns = 0, busy_ns = 0;
  std::shared_ptr<const NodeParameters> parameters;  // or null
};

using NodeWorkPtr = std::shared_ptr<const NodeWork>;

NodeWorkPtr node_work(Operation &&operation);
// The work that `submit` submits to a stream of this context.
NodeWorkPtr node_work(const std::shared_ptr<Context> &context,
                      const std::function<void(const std::shared_ptr<Stream> &)> &submit);

struct GraphNode {
  CUgraphNode handle = nullptr;
  Graph *graph = nullptr;  // while the node is in it
  int type = CU_GRAPH_NODE_TYPE_EMPTY;
  Site made_at = 0;
  std::vector<std::shared_ptr<GraphNode>> depends_on;
  std::vector<GraphNode *> dependents;
  NodeWorkPtr work;
  std::shared_ptr<Event> event;                           // for a record or a wait
  std::shared_ptr<GraphMemory> memory;                    // for an allocation or a free
  std::shared_ptr<Graph> child;                           // the node's own copy of a child graph
  std::vector<std::shared_ptr<Graph>> bodies;             // of a conditional node
  std::vector<CUgraph> body_handles;                      // as returned to the client
  std::weak_ptr<GraphNode> original;                      // if the graph is a clone
  std::list<std::shared_ptr<GraphNode>>::iterator place;  // in its graph
};

using GraphNodePtr = std::shared_ptr<GraphNode>;

struct Graph {
  CUgraph handle = nullptr;
  std::list<GraphNodePtr> nodes;  // in the order in which they were made
  std::unique_ptr<UserReferences> user_objects = std::make_unique<UserReferences>();
  std::weak_ptr<struct GraphExec> instance;  // the last one
  bool capturing = false;
  bool of_node = false;                                // belongs to a node, and ends with it
  bool moved = false;                                  // there, instead of a copy
  std::vector<std::shared_ptr<Condition>> conditions;  // of nodes in it, or inside those
  const GraphNode *body_of = nullptr;                  // the conditional node that has it as a body

  bool has_memory_nodes() const;
  bool has_conditional_nodes() const;
  // Whether the other one is of a node in this one, or further inside.
  bool holds(const Graph &other) const;
  // Other graphs can be launched by only one executable graph at a time, and cannot be child
  // graphs.
  bool can_be_copied() const { return !has_memory_nodes() && !has_conditional_nodes(); }
};

// The nodes in an order in which they may run, with those of child graphs.
struct GraphPlan {
  struct Step {
    GraphNodePtr node;
    // As they were when the graph was instantiated or updated.
    NodeWorkPtr work;
    std::shared_ptr<Event> event;
    std::vector<std::size_t> after;  // indices of earlier steps
    std::uint32_t branch = 0;
    bool enabled = true;
    std::optional<std::size_t> within = std::nullopt;  // the step of the node whose body this is in
    std::vector<std::size_t> bodies = {};              // of a conditional node: where each one ends
  };
  std::vector<Step> steps;
  std::map<const GraphNode *, std::size_t> step_of;
  // For a child graph: its first step; its last one is its node's own.
  std::map<const GraphNode *, std::size_t> first_of_child;
  std::shared_ptr<const UserReferences> user_objects;

  explicit GraphPlan(const Graph &graph);
  bool has_memory_nodes() const;
  bool has_conditional_nodes() const;

 private:
  std::vector<std::size_t> add(const GraphPlan &child, const std::vector<std::size_t> &after);
  void number_branches();
};

// Why a graph cannot be instantiated with these flags: an unsupported node or condition.
struct Unfit {
  int result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  GraphNodePtr node;
};
Unfit unfit(const Graph &graph, std::uint64_t flags);

struct GraphExec {
  GraphExec() = default;
  GraphExec(const GraphExec &) = delete;
  GraphExec &operator=(const GraphExec &) = delete;
  ~GraphExec();

  CUgraphExec handle = nullptr;
  std::uint64_t flags = 0;
  std::shared_ptr<const GraphPlan> plan;
  OperationPtr last;  // the end of its last launch

  // The plan, to be changed. Captured launches keep theirs.
  GraphPlan &own_plan();

 private:
  std::shared_ptr<GraphPlan> own_;
};

// Changes each node to do what its counterpart in this graph does, from the next launch on. Returns
// what else differs.
struct UpdateResult {
  int result = 0;  // CUgraphExecUpdateResult
  GraphNodePtr node;
};
UpdateResult update(GraphExec &exec, const Graph &graph);
// The same for a child graph, by its node.
UpdateResult update_child(GraphExec &exec, const GraphNode &node, const Graph &graph);

// Look up handles given to calls.
inline std::shared_ptr<Graph> graph_of(Session &session, CUgraph handle) {
  return session.driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
}
inline GraphNodePtr node_of(Session &session, CUgraphNode handle) {
  return session.driver.graph_nodes.get(handle, CUDA_ERROR_INVALID_VALUE);
}
inline std::shared_ptr<GraphExec> exec_of(Session &session, CUgraphExec handle) {
  return session.driver.graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
}

std::shared_ptr<Graph> new_graph(Driver &driver);
std::shared_ptr<Graph> clone_graph(Driver &driver, const Graph &graph);
void destroy_graph(Driver &driver, Graph &graph);
GraphNodePtr add_node(Driver &driver, Graph &graph, const std::vector<GraphNodePtr> &depends_on,
                      NodeWorkPtr work);
void add_edge(const GraphNodePtr &before, GraphNode &after);
void remove_edge(GraphNode &before, GraphNode &after);
void remove_node(Driver &driver, GraphNode &node);
// Replaces the nodes of a node's child graph.
void set_child(Driver &driver, GraphNode &node, const Graph &graph);
void set_child(Driver &driver, GraphNode &node, const GraphPlan &plan);
std::vector<GraphNodePtr> nodes_of(Session &session, const Graph &graph, const CUgraphNode *nodes,
                                   std::size_t count);

// Rejects edge data other than plain edges, which are not supported.
void check_edges(const CUgraphEdgeData *edges, std::size_t count);

std::shared_ptr<GraphExec> instantiate(Session &session, const std::shared_ptr<Graph> &graph,
                                       std::uint64_t flags);
void launch(Session &session, const std::shared_ptr<GraphExec> &exec,
            const std::shared_ptr<Stream> &stream);

// Nodes that allocate and free memory.
GraphNodePtr add_allocation(Session &session, Graph &graph,
                            const std::vector<GraphNodePtr> &depends_on,
                            CUDA_MEM_ALLOC_NODE_PARAMS &parameters);
GraphNodePtr add_free(Graph &graph, const std::vector<GraphNodePtr> &depends_on,
                      const AllocationPtr &allocation);
// Frees memory that a launch has allocated, in the order of a stream.
void free_graph_memory(Session &session, const std::shared_ptr<Stream> &stream,
                       const AllocationPtr &allocation);
// Memory that an earlier launch allocated and nobody has freed since.
std::vector<AllocationPtr> unfreed(const GraphPlan &plan);
// Makes sure that the device has room for what a launch allocates.
void back_memory(Session &session, const GraphPlan &plan);
// Memory that a launch allocates may be used once the call has returned; memory that it frees may
// not.
void note_memory(const GraphNode &node, const OperationPtr &operation);
// Returns unused memory of graphs to the device.
void trim_graph_memory(Device &device);

}  // namespace simcuda
