// SPDX-License-Identifier: BSD-3-Clause
// What is launched: the nodes of a graph, in an order in which they may run.
#include <algorithm>

#include "conditional.h"

namespace simcuda {
namespace {

// An order in which every node comes after those it depends on; empty if there is none.
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

bool GraphPlan::has_conditional_nodes() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](auto &step) { return bool(step.work->conditional); });
}

bool GraphPlan::has_memory_nodes() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](auto &step) { return bool(step.node->memory); });
}

GraphPlan::GraphPlan(const Graph &graph) {
  auto held = std::make_shared<UserReferences>(*graph.user_objects);
  for (auto &node : in_order(graph)) {
    std::vector<std::size_t> after;
    for (auto &before : node->depends_on) after.push_back(step_of.at(before.get()));
    // A child graph begins where its node would, and its node ends it.
    if (node->child) {
      first_of_child[node.get()] = steps.size();
      const GraphPlan child(*node->child);
      after = add(child, after);
      held->add(*child.user_objects);
    }
    // A conditional node's bodies come before it.
    std::vector<std::size_t> bodies;
    for (auto &graph_of_body : node->bodies) {
      const GraphPlan body(*graph_of_body);
      bodies.push_back(steps.size());
      add(body, {});
      held->add(*body.user_objects);
    }
    if (!bodies.empty())
      for (std::size_t i = bodies.front(); i < steps.size(); ++i)
        if (!steps[i].within) steps[i].within = steps.size();
    step_of[node.get()] = steps.size();
    steps.push_back({node, node->work, node->event, std::move(after)});
    steps.back().bodies = std::move(bodies);
  }
  user_objects = std::move(held);
  number_branches();
}

// The steps that no other step of the child waits for.
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
    if (step.within) copy.within = first + *step.within;
    for (const std::size_t body : step.bodies) copy.bodies.push_back(first + body);
    steps.push_back(std::move(copy));
  }
  for (auto &[node, index] : child.step_of) step_of[node] = first + index;
  for (auto &[node, index] : child.first_of_child) first_of_child[node] = first + index;
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < waited_for.size(); ++i)
    if (!waited_for[i]) ends.push_back(first + i);
  return ends.empty() ? after : ends;
}

// Each step continues the branch of a step that it waits for, if no earlier one has.
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
  if (last) plan->user_objects->held_until(last);
}

GraphPlan &GraphExec::own_plan() {
  const bool shared = plan.use_count() > (own_ ? 2 : 1);
  if (!own_ || shared) plan = own_ = std::make_shared<GraphPlan>(*plan);
  return *own_;
}

namespace {

// Whether these use a condition in the same way, if they are conditional nodes.
bool is_same_choice(const GraphPlan::Step &old, const GraphPlan::Step &step, std::size_t first) {
  if (!step.work->conditional) return true;
  return old.work->conditional->type == step.work->conditional->type &&
         std::equal(old.bodies.begin(), old.bodies.end(), step.bodies.begin(), step.bodies.end(),
                    [&](auto mine, auto theirs) { return mine == theirs + first; });
}

// Copies the work of another plan to the steps from `first` on.
UpdateResult update_steps(GraphExec &exec, std::size_t first, std::size_t count,
                          const GraphPlan &after) {
  const int topology_changed = 2, type_changed = 3, parameters_changed = 5, not_supported = 6;
  if (count != after.steps.size()) return {topology_changed, nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    const GraphPlan::Step &old = exec.plan->steps[first + i];
    const GraphNodePtr &node = after.steps[i].node;
    if (old.node->type != node->type) return {type_changed, node};
    // If the graph's own first steps wait for nothing, those of a child graph need not either.
    const auto &edges = after.steps[i].after;
    const bool alike =
        edges.empty() || std::equal(edges.begin(), edges.end(), old.after.begin(), old.after.end(),
                                    [&](auto mine, auto theirs) { return mine + first == theirs; });
    const bool begins =
        std::all_of(old.after.begin(), old.after.end(), [&](auto index) { return index < first; });
    if (!alike || edges.empty() != begins) return {topology_changed, node};
    if (node->memory) return {not_supported, node};
    if (!is_same_choice(old, after.steps[i], first)) return {parameters_changed, node};
  }
  GraphPlan &plan = exec.own_plan();
  for (std::size_t i = 0; i < count; ++i) {
    plan.steps[first + i].work = after.steps[i].work;
    plan.steps[first + i].event = after.steps[i].event;
  }
  return {};
}

// Its launches so far hold the earlier ones.
void replace_user_objects(GraphExec &exec, std::shared_ptr<const UserReferences> references) {
  if (exec.last) exec.plan->user_objects->held_until(exec.last);
  exec.own_plan().user_objects = std::move(references);
}

}  // namespace

UpdateResult update(GraphExec &exec, const Graph &graph) {
  if (graph.moved || unfit(graph, exec.flags).result) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const GraphPlan after(graph);
  const auto result = update_steps(exec, 0, exec.plan->steps.size(), after);
  if (!result.result) replace_user_objects(exec, after.user_objects);
  return result;
}

UpdateResult update_child(GraphExec &exec, const GraphNode &node, const Graph &graph) {
  const GraphPlan after(graph);
  const std::size_t first = exec.plan->first_of_child.at(&node);
  const auto result = update_steps(exec, first, exec.plan->step_of.at(&node) - first, after);
  if (!result.result) {
    auto all = std::make_shared<UserReferences>(*exec.plan->user_objects);
    all->add(*after.user_objects);
    replace_user_objects(exec, std::move(all));
  }
  return result;
}

std::shared_ptr<GraphExec> instantiate(Session &session, const std::shared_ptr<Graph> &graph,
                                       std::uint64_t flags) {
  const std::uint64_t known =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if (flags & ~known) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const bool from_device = flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
  if (from_device && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  const bool another = !graph->can_be_copied() && !graph->instance.expired();
  if (another || graph->moved) throw Refused{CUDA_ERROR_INVALID_VALUE};
  session.current();
  const int result = unfit(*graph, flags).result;
  if (result == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED)
    throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  if (result) throw Refused{CUDA_ERROR_INVALID_VALUE};
  auto exec = std::make_shared<GraphExec>();
  exec->flags = flags;
  exec->plan = std::make_shared<const GraphPlan>(*graph);
  graph->instance = exec;
  session.driver.graph_execs.add(exec);
  return exec;
}

}  // namespace simcuda
