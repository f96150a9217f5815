// SPDX-License-Identifier: BSD-3-Clause
// Graphs: nodes and edges, captured or made one by one; what is launched; what a graph keeps alive.
#pragma once

#include "driver.h"

namespace simcuda {

// Something of the client's that graphs keep alive. Its destructor is called on the driver's
// thread once nobody holds a reference.
struct UserObject {
  CUuserObject handle = nullptr;
  CUhostFn destroy = nullptr;
  void *data = nullptr;
  std::uint64_t of_callers = 0, of_graphs = 0;  // references
  std::vector<OperationPtr> launches;           // the last of each executable graph that held it
};

// Gives up references that are no longer counted, and ends the object if those were the last.
void end_if_unused(Driver &driver, UserObject &object);

// The references of one graph.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences &other);
  UserReferences &operator=(const UserReferences &) = delete;
  ~UserReferences();
  void add(const std::shared_ptr<UserObject> &object, std::uint64_t count);
  bool remove(const std::shared_ptr<UserObject> &object, std::uint64_t count);
  void held_until(const OperationPtr &launch) const;

 private:
  std::map<std::shared_ptr<UserObject>, std::uint64_t> counts_;
};

// Memory that a graph allocates. Its address stays while the graph, anything launched from it, or
// memory that it allocated and nobody freed is there.
struct GraphMemory {
  explicit GraphMemory(AllocationPtr memory) : allocation(std::move(memory)) {}
  GraphMemory(const GraphMemory &) = delete;
  GraphMemory &operator=(const GraphMemory &) = delete;
  ~GraphMemory();

  AllocationPtr allocation;
  std::weak_ptr<GraphNode> allocated_by;
  std::vector<std::weak_ptr<GraphNode>> freed_by;  // of several graphs
  bool freed_in_graph = false;                     // by the graph that allocates it
  // It has been allocated by a launch, and not freed: it then keeps itself.
  std::shared_ptr<GraphMemory> outstanding;
};

struct GraphPlan;

// What a node does at each launch. Nodes that are told to do something else get another one: what
// was instantiated before goes on as it was.
struct NodeWork {
  std::vector<Access> accesses;
  std::function<void()> run, host_function;
  std::shared_ptr<const KernelLaunch> launch;
  std::uint64_t duration_ns = 0, busy_ns = 0;
};

std::shared_ptr<const NodeWork> node_work(Operation &&operation);

struct GraphNode {
  CUgraphNode handle = nullptr;
  const Graph *graph = nullptr;  // compared only
  int type = CU_GRAPH_NODE_TYPE_EMPTY;
  const char *what = "";
  std::vector<std::shared_ptr<GraphNode>> depends_on;
  std::shared_ptr<const NodeWork> work;
  std::shared_ptr<Event> event;            // of a record or a wait
  std::shared_ptr<GraphMemory> memory;     // of an allocation or a free
  std::shared_ptr<const GraphPlan> child;  // of a graph in the graph
  std::weak_ptr<GraphNode> original;       // in the graph that this is a clone of
};

using GraphNodePtr = std::shared_ptr<GraphNode>;

struct Graph {
  CUgraph handle = nullptr;
  std::vector<GraphNodePtr> nodes;
  std::unique_ptr<UserReferences> user_objects = std::make_unique<UserReferences>();
  std::weak_ptr<struct GraphExec> instance;  // the last
  bool capturing = false;

  bool has_memory_nodes() const;
};

// The nodes in an order in which they may run, with those of graphs in the graph.
struct GraphPlan {
  struct Step {
    GraphNodePtr node;
    // As they were when the graph was instantiated, or updated.
    std::shared_ptr<const NodeWork> work;
    std::shared_ptr<Event> event;
    std::vector<std::size_t> after;  // earlier steps
    std::uint32_t branch = 0;
  };
  std::vector<Step> steps;
  std::map<const GraphNode *, std::size_t> step_of;  // of the graph's own nodes
  UserReferences user_objects;

  explicit GraphPlan(const Graph &graph);
  bool has_memory_nodes() const;
  // Notes on its user objects, and those of graphs in the graph, who held them.
  void held_until(const OperationPtr &launch) const;

 private:
  std::vector<std::size_t> add(const GraphPlan &child, const std::vector<std::size_t> &after);
  void number_branches();
};

struct GraphExec {
  GraphExec() = default;
  GraphExec(const GraphExec &) = delete;
  GraphExec &operator=(const GraphExec &) = delete;
  ~GraphExec();

  CUgraphExec handle = nullptr;
  std::uint64_t flags = 0;
  std::shared_ptr<const GraphPlan> plan;
  OperationPtr last;  // the end of its last launch

  // The plan, to be changed: launches that were captured keep theirs.
  GraphPlan &own_plan();

 private:
  std::shared_ptr<GraphPlan> own_;
};

// From the next launch on, each node does what its counterpart in this graph does. What differs, if
// that is more than what they do:
struct UpdateResult {
  int result = 0;  // CUgraphExecUpdateResult
  GraphNodePtr node;
};
UpdateResult update(GraphExec &exec, const Graph &graph);

std::shared_ptr<Graph> new_graph(Driver &driver);
std::shared_ptr<Graph> clone_graph(Driver &driver, const Graph &graph);
void destroy_graph(Driver &driver, Graph &graph);
// A node that does what the operation would.
GraphNodePtr add_node(Driver &driver, Graph &graph, std::vector<GraphNodePtr> depends_on,
                      Operation &&operation);
// A stream that nobody else knows: what is submitted to it becomes the next node of the graph.
std::shared_ptr<Stream> node_stream(Session &session, CUgraph graph,
                                    const CUgraphNode *dependencies, std::size_t count,
                                    CUcontext context);
CUgraphNode made_node(const Stream &stream);
std::vector<GraphNodePtr> nodes_of(Session &session, const Graph &graph, const CUgraphNode *nodes,
                                   std::size_t count);

// Only plain edges are known: anything else in an edge's data is refused.
void check_edges(const CUgraphEdgeData *edges, std::size_t count);

std::shared_ptr<GraphExec> instantiate(Session &session, const std::shared_ptr<Graph> &graph,
                                       std::uint64_t flags);
void launch(Session &session, const std::shared_ptr<GraphExec> &exec,
            const std::shared_ptr<Stream> &stream);

// Stream-ordered allocation and free where the stream captures, or the memory is a graph's.
CUdeviceptr capture_allocation(Session &session, Stream &stream, int device, std::size_t bytes);
void capture_free(Stream &stream, const AllocationPtr &allocation);
void free_graph_memory(Session &session, const std::shared_ptr<Stream> &stream,
                       const AllocationPtr &allocation);

}  // namespace simcuda
