// SPDX-License-Identifier: BSD-3-Clause
#include "graph.h"

#include <algorithm>
#include <cstring>

#include "capture.h"
#include "trace.h"

namespace simcuda {
namespace {

struct NodeType {
  const char *what;
  int type;
};
// The node type for a captured operation. Others become empty nodes.
constexpr NodeType node_types[] = {
    {"kernel", CU_GRAPH_NODE_TYPE_KERNEL},
    {"busy", CU_GRAPH_NODE_TYPE_KERNEL},
    {"copy", CU_GRAPH_NODE_TYPE_MEMCPY},
    {"memset", CU_GRAPH_NODE_TYPE_MEMSET},
    {"host function", CU_GRAPH_NODE_TYPE_HOST},
    {"graph", CU_GRAPH_NODE_TYPE_GRAPH},
    {"event wait", CU_GRAPH_NODE_TYPE_WAIT_EVENT},
    {"event record", CU_GRAPH_NODE_TYPE_EVENT_RECORD},
    {"allocate", CU_GRAPH_NODE_TYPE_MEM_ALLOC},
    {"free", CU_GRAPH_NODE_TYPE_MEM_FREE},
    {"conditional", CU_GRAPH_NODE_TYPE_CONDITIONAL},
};

int type_of(const char *what) {
  for (auto &known : node_types)
    if (std::strcmp(known.what, what) == 0) return known.type;
  return CU_GRAPH_NODE_TYPE_EMPTY;
}

}  // namespace

namespace {

// Returns the call of its destructor; empty if the object is still in use.
std::function<void()> end_of(Driver &driver, UserObject &object) {
  if (object.of_callers + object.of_graphs > 0) return {};
  const auto destroy = object.destroy;
  const auto data = object.data;
  driver.user_objects.remove(object.handle);
  // The destructor shows the client, without a call, that these are done.
  driver.races.host_saw(object.launches);
  return [=] { destroy(data); };
}

}  // namespace

void end_if_unused(Driver &driver, UserObject &object) {
  if (auto end = end_of(driver, object)) driver.schedule.call_later(std::move(end));
}

void end_if_unused(Driver &driver, UserObject &object, ThreadState &caller) {
  if (auto end = end_of(driver, object)) caller.after_call.push_back(std::move(end));
}

UserReferences::UserReferences(const UserReferences &other) {
  add(other);
}

void UserReferences::add(const UserReferences &other) {
  for (auto &[object, count] : other.counts_) add(object, count);
}

UserReferences::~UserReferences() {
  ThreadState &thread = thread_state();
  for (auto &[object, count] : counts_) {
    object->of_graphs -= count;
    if (thread.ends_user_objects)
      end_if_unused(*driver(), *object, thread);
    else
      end_if_unused(*driver(), *object);
  }
}

void UserReferences::add(const std::shared_ptr<UserObject> &object, std::uint64_t count) {
  counts_[object] += count;
  object->of_graphs += count;
}

bool UserReferences::remove(const std::shared_ptr<UserObject> &object, std::uint64_t count,
                            ThreadState &caller) {
  auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  if ((found->second -= count) == 0) counts_.erase(found);
  object->of_graphs -= count;
  end_if_unused(*driver(), *object, caller);
  return true;
}

void UserReferences::held_until(const OperationPtr &launch) const {
  for (auto &[object, count] : counts_) {
    std::erase_if(object->launches, [](auto &other) { return driver()->races.is_settled(other); });
    object->launches.push_back(launch);
  }
}

bool Graph::has_memory_nodes() const {
  return std::any_of(nodes.begin(), nodes.end(), [](auto &node) {
    return node->memory || (node->child && node->child->has_memory_nodes());
  });
}

// No child graph has any.
bool Graph::has_conditional_nodes() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](auto &node) { return bool(node->work->conditional); });
}

bool Graph::holds(const Graph &other) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](auto &node) {
    return node->child && (node->child.get() == &other || node->child->holds(other));
  });
}

std::shared_ptr<Graph> new_graph(Driver &driver) {
  auto graph = std::make_shared<Graph>();
  driver.graphs.add(graph);
  return graph;
}

std::shared_ptr<Graph> clone_graph(Driver &driver, const Graph &graph) {
  auto clone = new_graph(driver);
  std::map<const GraphNode *, GraphNodePtr> copies;
  for (auto &node : graph.nodes) {
    auto copy = add_node(driver, *clone, {}, node->work);
    copy->type = node->type;
    copy->event = node->event;
    copy->original = node;
    if (node->child) set_child(driver, *copy, *node->child);
    copies[node.get()] = copy;
  }
  for (auto &node : graph.nodes)
    for (auto &before : node->depends_on) add_edge(copies.at(before.get()), *copies.at(node.get()));
  clone->user_objects = std::make_unique<UserReferences>(*graph.user_objects);
  return clone;
}

namespace {

void forget(Driver &driver, GraphNode &node) {
  driver.graph_nodes.remove(node.handle);
  node.graph = nullptr;
  if (node.child) destroy_graph(driver, *node.child);
  for (auto &body : node.bodies) destroy_graph(driver, *body);
}

}  // namespace

void destroy_graph(Driver &driver, Graph &graph) {
  for (auto &node : graph.nodes) {
    forget(driver, *node);
    node->depends_on.clear();
    node->dependents.clear();
  }
  graph.nodes.clear();
  graph.conditions.clear();
  graph.user_objects = nullptr;
  driver.graphs.remove(graph.handle);
}

NodeWorkPtr node_work(Operation &&operation) {
  return std::make_shared<const NodeWork>(
      NodeWork{operation.what, std::move(operation.accesses), std::move(operation.run),
               std::move(operation.host_function), std::move(operation.launch),
               std::move(operation.conditional), operation.duration_ns, operation.busy_ns,
               std::move(operation.parameters)});
}

NodeWorkPtr node_work(const std::shared_ptr<Context> &context,
                      const std::function<void(const std::shared_ptr<Stream> &)> &submit) {
  // A stream that no one else knows captures the call, into a graph that no one else knows.
  auto stream = std::make_shared<Stream>();
  stream->flags = CU_STREAM_NON_BLOCKING;
  stream->context = context;
  stream->capture = std::make_shared<Capture>();
  stream->capture->graph = std::make_shared<Graph>();
  const Memory::AtLaunches scope(driver()->memory);
  submit(stream);
  const GraphNodePtr node = stream->capture->graph->nodes.front();
  driver()->graph_nodes.remove(node->handle);
  return node->work;
}

GraphNodePtr add_node(Driver &driver, Graph &graph, const std::vector<GraphNodePtr> &depends_on,
                      NodeWorkPtr work) {
  auto node = std::make_shared<GraphNode>();
  node->graph = &graph;
  node->type = type_of(work->what);
  node->made_at = thread_state().site;
  node->work = std::move(work);
  driver.graph_nodes.add(node);
  node->place = graph.nodes.insert(graph.nodes.end(), node);
  for (auto &before : depends_on) add_edge(before, *node);
  return node;
}

void add_edge(const GraphNodePtr &before, GraphNode &after) {
  after.depends_on.push_back(before);
  before->dependents.push_back(&after);
}

void remove_edge(GraphNode &before, GraphNode &after) {
  std::erase(before.dependents, &after);
  std::erase_if(after.depends_on, [&](auto &node) { return node.get() == &before; });
}

void remove_node(Driver &driver, GraphNode &node) {
  const GraphNodePtr kept = *node.place;  // until the end of this
  for (auto &before : node.depends_on) std::erase(before->dependents, &node);
  for (auto *after : node.dependents)
    std::erase_if(after->depends_on, [&](auto &other) { return other == kept; });
  node.depends_on.clear();
  node.dependents.clear();
  node.graph->nodes.erase(node.place);
  forget(driver, node);
}

void set_child(Driver &driver, GraphNode &node, const Graph &graph) {
  node.child = clone_graph(driver, graph);
  node.child->of_node = true;
}

// Child graphs are no longer separate: their nodes are among this graph's.
void set_child(Driver &driver, GraphNode &node, const GraphPlan &plan) {
  node.child = new_graph(driver);
  node.child->of_node = true;
  std::vector<GraphNodePtr> made;
  for (auto &step : plan.steps) {
    auto copy = add_node(driver, *node.child, {}, step.work);
    if (step.node->child) copy->type = CU_GRAPH_NODE_TYPE_EMPTY;
    copy->event = step.event;
    for (const std::size_t index : step.after) add_edge(made[index], *copy);
    made.push_back(copy);
  }
  node.child->user_objects = std::make_unique<UserReferences>(*plan.user_objects);
}

std::vector<GraphNodePtr> nodes_of(Session &session, const Graph &graph, const CUgraphNode *nodes,
                                   std::size_t count) {
  if (count && !nodes) throw Refused{CUDA_ERROR_INVALID_VALUE};
  std::vector<GraphNodePtr> found;
  std::set<CUgraphNode> seen;
  for (std::size_t i = 0; i < count; ++i) {
    auto node = session.driver.graph_nodes.get(nodes[i], CUDA_ERROR_INVALID_VALUE);
    if (node->graph != &graph || !seen.insert(nodes[i]).second)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    found.push_back(std::move(node));
  }
  return found;
}

void check_edges(const CUgraphEdgeData *edges, std::size_t count) {
  const CUgraphEdgeData plain{};
  for (std::size_t i = 0; edges && i < count; ++i)
    if (std::memcmp(&edges[i], &plain, sizeof plain) != 0) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
}

}  // namespace simcuda
