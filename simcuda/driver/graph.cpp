// SPDX-License-Identifier: BSD-3-Clause
#include "graph.h"

#include <algorithm>
#include <cstring>

#include "capture.h"
#include "written.h"

namespace simcuda {
namespace {

struct NodeType {
  const char *what;
  int type;
};
// What an operation becomes when it is captured; the rest are empty nodes.
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
};

int type_of(const char *what) {
  for (auto &known : node_types)
    if (std::strcmp(known.what, what) == 0) return known.type;
  return CU_GRAPH_NODE_TYPE_EMPTY;
}

// An order in which every node comes after those it depends on; there may be none.
std::vector<GraphNodePtr> in_order(const Graph &graph) {
  std::vector<GraphNodePtr> ordered;
  std::map<const GraphNode *, std::size_t> missing;
  std::map<const GraphNode *, std::vector<GraphNodePtr>> dependents;
  std::vector<GraphNodePtr> ready;
  for (auto &node : graph.nodes) {
    missing[node.get()] = node->depends_on.size();
    for (auto &before : node->depends_on) dependents[before.get()].push_back(node);
    if (node->depends_on.empty()) ready.push_back(node);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    ordered.push_back(ready[i]);
    for (auto &next : dependents[ordered.back().get()])
      if (--missing[next.get()] == 0) ready.push_back(next);
  }
  if (ordered.size() != graph.nodes.size()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return ordered;
}

void poison(const AllocationPtr &allocation, int value) {
  std::memset(allocation->bytes, value, allocation->size);
  if (allocation->written) allocation->written->clear();
}

Access whole(const AllocationPtr &allocation, Access::Life life) {
  Access access{allocation, allocation->address, allocation->size, true};
  access.life = life;
  return access;
}

// Those that an earlier launch allocated and nobody has freed since.
std::vector<AllocationPtr> unfreed(const GraphPlan &plan) {
  std::vector<AllocationPtr> found;
  for (auto &step : plan.steps)
    if (step.node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && step.node->memory->outstanding)
      found.push_back(step.node->memory->allocation);
  return found;
}

// What a launch allocates may be used once its call has returned; what it frees may not.
void note_memory(const GraphNode &node) {
  if (!node.memory) return;
  const bool allocates = node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node.memory->allocation->free_submitted = !allocates;
  node.memory->outstanding = allocates ? node.memory : nullptr;
  // New memory, if at an old address; what was used before it was there still counts.
  auto &history = node.memory->allocation->history;
  if (allocates && history && history->freed) history = nullptr;
}

}  // namespace

void end_if_unused(Driver &driver, UserObject &object) {
  if (object.of_callers + object.of_graphs > 0) return;
  const auto destroy = object.destroy;
  const auto data = object.data;
  driver.user_objects.remove(object.handle);
  // From its destructor a client learns, without a call, that these are done.
  driver.races.host_saw(object.launches);
  driver.schedule.call_later([=] { destroy(data); });
}

UserReferences::UserReferences(const UserReferences &other) {
  for (auto &[object, count] : other.counts_) add(object, count);
}

UserReferences::~UserReferences() {
  for (auto &[object, count] : counts_) {
    object->of_graphs -= count;
    end_if_unused(*driver(), *object);
  }
}

void UserReferences::add(const std::shared_ptr<UserObject> &object, std::uint64_t count) {
  counts_[object] += count;
  object->of_graphs += count;
}

bool UserReferences::remove(const std::shared_ptr<UserObject> &object, std::uint64_t count) {
  auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  if ((found->second -= count) == 0) counts_.erase(found);
  object->of_graphs -= count;
  end_if_unused(*driver(), *object);
  return true;
}

void UserReferences::held_until(const OperationPtr &launch) const {
  for (auto &[object, count] : counts_) {
    std::erase_if(object->launches, [](auto &other) { return driver()->races.is_settled(other); });
    object->launches.push_back(launch);
  }
}

GraphMemory::~GraphMemory() {
  driver()->memory.free(*allocation);
}

bool Graph::has_memory_nodes() const {
  return std::any_of(nodes.begin(), nodes.end(), [](auto &node) { return bool(node->memory); });
}

bool GraphPlan::has_memory_nodes() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](auto &step) { return bool(step.node->memory); });
}

GraphPlan::GraphPlan(const Graph &graph) : user_objects(*graph.user_objects) {
  for (auto &node : in_order(graph)) {
    std::vector<std::size_t> after;
    for (auto &before : node->depends_on) after.push_back(step_of.at(before.get()));
    // A graph in the graph begins where its node would, and its node ends it.
    if (node->child) after = add(*node->child, after);
    step_of[node.get()] = steps.size();
    steps.push_back({node, node->work, node->event, std::move(after)});
  }
  number_branches();
}

// The steps that nothing in the child waits for.
std::vector<std::size_t> GraphPlan::add(const GraphPlan &child,
                                        const std::vector<std::size_t> &after) {
  const std::size_t first = steps.size();
  std::vector<bool> waited_for(child.steps.size(), false);
  for (auto &step : child.steps) {
    Step copy{step.node, step.work, step.event, step.after};
    for (auto &index : copy.after) {
      waited_for[index] = true;
      index += first;
    }
    if (copy.after.empty()) copy.after = after;
    steps.push_back(std::move(copy));
  }
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < waited_for.size(); ++i)
    if (!waited_for[i]) ends.push_back(first + i);
  return ends.empty() ? after : ends;
}

// Each step goes on with the branch of one that it waits for, if none has done so before it.
void GraphPlan::number_branches() {
  std::vector<bool> continued(steps.size(), false);
  std::uint32_t branches = 0;
  for (auto &step : steps) {
    auto before = std::find_if(step.after.begin(), step.after.end(),
                               [&](std::size_t index) { return !continued[index]; });
    step.branch = before == step.after.end() ? branches++ : steps[*before].branch;
    if (before != step.after.end()) continued[*before] = true;
  }
}

void GraphPlan::held_until(const OperationPtr &launch) const {
  user_objects.held_until(launch);
  for (auto &step : steps)
    if (step.node->child) step.node->child->held_until(launch);
}

GraphExec::~GraphExec() {
  if (last) plan->held_until(last);
}

GraphPlan &GraphExec::own_plan() {
  const bool shared = plan.use_count() > (own_ ? 2 : 1);
  if (!own_ || shared) plan = own_ = std::make_shared<GraphPlan>(*plan);
  return *own_;
}

UpdateResult update(GraphExec &exec, const Graph &graph) {
  const int topology_changed = 2, type_changed = 3, not_supported = 6;
  const GraphPlan &before = *exec.plan;
  const GraphPlan after(graph);
  if (before.steps.size() != after.steps.size()) return {topology_changed, nullptr};
  for (std::size_t i = 0; i < after.steps.size(); ++i) {
    const GraphNodePtr &node = after.steps[i].node;
    if (before.steps[i].node->type != node->type) return {type_changed, node};
    if (before.steps[i].after != after.steps[i].after) return {topology_changed, node};
    if (node->memory) return {not_supported, node};
  }
  GraphPlan &plan = exec.own_plan();
  for (std::size_t i = 0; i < after.steps.size(); ++i) {
    plan.steps[i].work = after.steps[i].work;
    plan.steps[i].event = after.steps[i].event;
  }
  return {};
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
    auto copy = std::make_shared<GraphNode>(*node);
    copy->graph = clone.get();
    copy->original = node;
    driver.graph_nodes.add(copy);
    clone->nodes.push_back(copy);
    copies[node.get()] = copy;
  }
  for (auto &node : clone->nodes)
    for (auto &before : node->depends_on) before = copies.at(before.get());
  clone->user_objects = std::make_unique<UserReferences>(*graph.user_objects);
  return clone;
}

void destroy_graph(Driver &driver, Graph &graph) {
  for (auto &node : graph.nodes) {
    driver.graph_nodes.remove(node->handle);
    node->depends_on.clear();
  }
  graph.nodes.clear();
  graph.user_objects = nullptr;
  driver.graphs.remove(graph.handle);
}

std::shared_ptr<const NodeWork> node_work(Operation &&operation) {
  return std::make_shared<const NodeWork>(NodeWork{
      std::move(operation.accesses), std::move(operation.run), std::move(operation.host_function),
      std::move(operation.launch), operation.duration_ns, operation.busy_ns});
}

GraphNodePtr add_node(Driver &driver, Graph &graph, std::vector<GraphNodePtr> depends_on,
                      Operation &&operation) {
  auto node = std::make_shared<GraphNode>();
  node->graph = &graph;
  node->type = type_of(operation.what);
  node->what = operation.what;
  node->depends_on = std::move(depends_on);
  node->work = node_work(std::move(operation));
  driver.graph_nodes.add(node);
  graph.nodes.push_back(node);
  return node;
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

std::shared_ptr<Stream> node_stream(Session &session, CUgraph handle,
                                    const CUgraphNode *dependencies, std::size_t count,
                                    CUcontext context) {
  auto graph = session.driver.graphs.get(handle, CUDA_ERROR_INVALID_VALUE);
  auto stream = std::make_shared<Stream>();
  stream->flags = CU_STREAM_NON_BLOCKING;
  stream->context = session.context(context);
  stream->capture = std::make_shared<Capture>();
  stream->capture->graph = graph;
  stream->capture_tail = nodes_of(session, *graph, dependencies, count);
  return stream;
}

CUgraphNode made_node(const Stream &stream) {
  return stream.capture_tail.front()->handle;
}

std::shared_ptr<GraphExec> instantiate(Session &session, const std::shared_ptr<Graph> &graph,
                                       std::uint64_t flags) {
  const std::uint64_t known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if (flags & ~known) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  const bool another = graph->has_memory_nodes() && !graph->instance.expired();
  if (graph->capturing || another) throw Refused{CUDA_ERROR_INVALID_VALUE};
  auto exec = std::make_shared<GraphExec>();
  exec->flags = flags;
  exec->plan = std::make_shared<const GraphPlan>(*graph);
  graph->instance = exec;
  session.driver.graph_execs.add(exec);
  return exec;
}

void launch(Session &session, const std::shared_ptr<GraphExec> &exec,
            const std::shared_ptr<Stream> &stream) {
  const auto plan = exec->plan;
  if (stream->capture) {
    // A second graph would share memory that only launches of the first keep apart.
    if (plan->has_memory_nodes()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    Operation child;
    child.what = "graph";
    capture_operation(*stream, std::move(child))->child = plan;
    return;
  }
  refuse_implicit(*stream);
  const auto leftovers = unfreed(*plan);
  if (!leftovers.empty() && !(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  for (auto &allocation : leftovers) free_graph_memory(session, stream, allocation);

  const auto operation_for = [&](const char *what) {
    auto operation = std::make_shared<Operation>();
    operation->what = what;
    operation->stream = stream;
    return operation;
  };
  // Launches of one executable graph follow each other.
  const auto opening = operation_for("graph launch");
  if (exec->last) opening->waits_for.push_back(exec->last);
  const auto closing = operation_for("graph end");
  std::vector<OperationPtr> operations;
  std::vector<bool> waited_for(plan->steps.size(), false);
  for (auto &step : plan->steps) {
    const GraphNode &node = *step.node;
    auto operation = operation_for(node.what);
    operation->branch = step.branch;
    operation->accesses = step.work->accesses;
    operation->run = step.work->run;
    operation->host_function = step.work->host_function;
    operation->launch = step.work->launch;
    operation->duration_ns = step.work->duration_ns;
    operation->busy_ns = step.work->busy_ns;
    for (auto index : step.after) {
      operation->waits_for.push_back(operations[index]);
      waited_for[index] = true;
    }
    if (step.after.empty()) operation->waits_for.push_back(opening);
    // For what the event has recorded before this launch.
    if (node.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && step.event->recorded)
      operation->waits_for.push_back(step.event->recorded);
    operations.push_back(std::move(operation));
  }
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (!waited_for[i]) closing->waits_for.push_back(operations[i]);
  closing->run = [exec] {};  // what is launched stays until it is done
  exec->last = closing;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const GraphNode &node = *plan->steps[i].node;
    note_memory(node);
    if (node.type != CU_GRAPH_NODE_TYPE_EVENT_RECORD) continue;
    Event &event = *plan->steps[i].event;
    event.recorded = operations[i];
    event.capture = nullptr;
    event.capture_tail.clear();
  }
  session.driver.schedule.submit(opening);
  for (auto &operation : operations) {
    begin_kernel(*operation);
    session.driver.schedule.enqueue(operation, {});
  }
  session.driver.schedule.submit(closing);
}

CUdeviceptr capture_allocation(Session &session, Stream &stream, int device, std::size_t bytes) {
  if (!stream.capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  auto allocation = session.driver.memory.allocate(Allocation::Kind::device, device, bytes, 0);
  allocation->of_graph = true;
  auto memory = std::make_shared<GraphMemory>(allocation);
  allocation->graph = memory;
  poison(allocation, freed_poison);  // nothing is there before the launch
  Operation operation;
  operation.what = "allocate";
  operation.accesses = {whole(allocation, Access::Life::begins)};
  operation.run = [allocation] { poison(allocation, fresh_poison); };
  const auto node = capture_operation(stream, std::move(operation));
  node->memory = memory;
  memory->allocated_by = node;
  return allocation->address;
}

void capture_free(Stream &stream, const AllocationPtr &allocation) {
  if (!stream.capture->active) throw Refused{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
  auto memory = allocation->graph.lock();
  const auto is_here = [&](const std::weak_ptr<GraphNode> &weak) {
    const auto node = weak.lock();
    return node && node->graph == stream.capture->graph.get();
  };
  if (!memory || memory->freed_in_graph ||
      std::any_of(memory->freed_by.begin(), memory->freed_by.end(), is_here))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  memory->freed_in_graph = is_here(memory->allocated_by);
  Operation operation;
  operation.what = "free";
  operation.accesses = {whole(allocation, Access::Life::ends)};
  operation.run = [allocation] { poison(allocation, freed_poison); };
  const auto node = capture_operation(stream, std::move(operation));
  node->memory = memory;
  memory->freed_by.push_back(node);
}

void free_graph_memory(Session &session, const std::shared_ptr<Stream> &stream,
                       const AllocationPtr &allocation) {
  auto memory = allocation->graph.lock();
  if (memory->freed_in_graph || !memory->outstanding) throw Refused{CUDA_ERROR_INVALID_VALUE};
  session.submit(
      stream, "free", {whole(allocation, Access::Life::ends)},
      [memory] { poison(memory->allocation, freed_poison); }, true);
  allocation->free_submitted = true;
  memory->outstanding = nullptr;
}

}  // namespace simcuda
