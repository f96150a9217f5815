// SPDX-License-Identifier: BSD-3-Clause
// What is launched: the nodes of a graph, in an order in which they may run.
#include <algorithm>

#include "capture.h"
#include "graph.h"

namespace simcuda {
namespace {

// An order in which every node comes after those it depends on; there may be none.
std::vector<GraphNodePtr> in_order(const Graph &graph) {
  std::vector<GraphNodePtr> ordered;
  std::map<const GraphNode *, std::size_t> missing;
  std::vector<GraphNodePtr> ready;
  for (auto &node : graph.nodes) {
    missing[node.get()] = node->depends_on.size();
    if (node->depends_on.empty()) ready.push_back(node);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    ordered.push_back(ready[i]);
    for (auto *next : ready[i]->dependents)
      if (--missing[next] == 0) ready.push_back(*next->place);
  }
  if (ordered.size() != graph.nodes.size()) throw Refused{CUDA_ERROR_INVALID_VALUE};
  return ordered;
}

}  // namespace

bool GraphPlan::has_memory_nodes() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](auto &step) { return bool(step.node->memory); });
}

GraphPlan::GraphPlan(const Graph &graph) : user_objects(*graph.user_objects) {
  for (auto &node : in_order(graph)) {
    std::vector<std::size_t> after;
    for (auto &before : node->depends_on) after.push_back(step_of.at(before.get()));
    // A graph in the graph begins where its node would, and its node ends it.
    if (node->child) {
      first_of_child[node.get()] = steps.size();
      after = add(GraphPlan(*node->child), after);
    }
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
  for (auto &[node, index] : child.step_of) step_of[node] = first + index;
  for (auto &[node, index] : child.first_of_child) first_of_child[node] = first + index;
  user_objects.add(child.user_objects);
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

GraphExec::~GraphExec() {
  if (last) plan->user_objects.held_until(last);
}

GraphPlan &GraphExec::own_plan() {
  const bool shared = plan.use_count() > (own_ ? 2 : 1);
  if (!own_ || shared) plan = own_ = std::make_shared<GraphPlan>(*plan);
  return *own_;
}

namespace {

// The steps of the plan from `first` on do what those of another one do.
UpdateResult update_steps(GraphExec &exec, std::size_t first, std::size_t count,
                          const GraphPlan &after) {
  const int topology_changed = 2, type_changed = 3, not_supported = 6;
  if (count != after.steps.size()) return {topology_changed, nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    const GraphPlan::Step &old = exec.plan->steps[first + i];
    const GraphNodePtr &node = after.steps[i].node;
    if (old.node->type != node->type) return {type_changed, node};
    // Where the graph's own first steps wait for nothing, those of one in a graph may.
    const auto &edges = after.steps[i].after;
    const bool alike =
        edges.empty() || std::equal(edges.begin(), edges.end(), old.after.begin(), old.after.end(),
                                    [&](auto mine, auto theirs) { return mine + first == theirs; });
    const bool begins =
        std::all_of(old.after.begin(), old.after.end(), [&](auto index) { return index < first; });
    if (!alike || edges.empty() != begins) return {topology_changed, node};
    if (node->memory) return {not_supported, node};
  }
  GraphPlan &plan = exec.own_plan();
  for (std::size_t i = 0; i < count; ++i) {
    plan.steps[first + i].work = after.steps[i].work;
    plan.steps[first + i].event = after.steps[i].event;
  }
  return {};
}

}  // namespace

UpdateResult update(GraphExec &exec, const Graph &graph) {
  return update_steps(exec, 0, exec.plan->steps.size(), GraphPlan(graph));
}

UpdateResult update_child(GraphExec &exec, const GraphNode &node, const Graph &graph) {
  const std::size_t first = exec.plan->first_of_child.at(&node);
  return update_steps(exec, first, exec.plan->step_of.at(&node) - first, GraphPlan(graph));
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
  // First: meanwhile other threads may call.
  if (!stream->capture) back_memory(session, *plan);
  if (stream->capture) {
    // A second graph would share memory that only launches of the first keep apart.
    if (plan->has_memory_nodes()) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    Operation child;
    child.what = "graph";
    set_child(session.driver, *capture_operation(*stream, std::move(child)), *plan);
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
    auto operation = operation_for(step.work->what);
    operation->made_at = node.made_at;
    operation->branch = step.branch;
    if (step.enabled) {
      operation->accesses = step.work->accesses;
      operation->run = step.work->run;
      operation->host_function = step.work->host_function;
      operation->launch = step.work->launch;
      operation->duration_ns = step.work->duration_ns;
      operation->busy_ns = step.work->busy_ns;
    }
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
    note_memory(node, operations[i]);
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

}  // namespace simcuda
