// SPDX-License-Identifier: BSD-3-Clause
#include "conditional.h"

#include "check_report.h"
#include "launch.h"
#include "tally.h"

namespace simcuda {

Condition::Condition(const std::shared_ptr<Context> &its_context,
                     std::optional<std::uint32_t> value)
    : context(owner_of(its_context)),
      memory(
          driver()->memory.allocate(MemoryKind::device, context->device, sizeof(std::uint32_t), 0)),
      at_launch(value) {
  // It ends with the graph, not with the context.
  memory->of_module = memory->of_condition = true;
  set(0);
  memory->written = nullptr;
}

Condition::~Condition() {
  driver()->memory.free(*memory);
}

// Kernels without any order to this may set it meanwhile.
std::uint32_t Condition::value() const {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t *>(memory->bytes), __ATOMIC_RELAXED);
}

void Condition::set(std::uint32_t value) {
  __atomic_store_n(reinterpret_cast<std::uint32_t *>(memory->bytes), value, __ATOMIC_RELAXED);
}

Access Condition::access(bool write) const {
  return {memory, memory->address, memory->size, write};
}

namespace {

bool is_size_allowed(int type, unsigned size) {
  const bool can_have_else = Settings::get().is_since(12080);
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return size == 1 || (size == 2 && can_have_else);
    case CU_GRAPH_COND_TYPE_WHILE:
      return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return size >= 1 && can_have_else;
    default:
      return false;
  }
}

// A handle belongs to the graph of the node, or to a parent graph of that.
std::shared_ptr<Condition> condition_of(const Graph &graph, CUgraphConditionalHandle handle) {
  for (const Graph *around = &graph; around;
       around = around->body_of ? around->body_of->graph : nullptr)
    for (auto &condition : around->conditions)
      if (condition->memory->address == handle) return condition;
  throw Refused{CUDA_ERROR_INVALID_VALUE};
}

}  // namespace

GraphNodePtr add_conditional(Session &session, Graph &graph,
                             const std::vector<GraphNodePtr> &depends_on,
                             CUDA_CONDITIONAL_NODE_PARAMS &p) {
  constexpr unsigned most_bodies = 1 << 16;  // here
  if (!is_size_allowed(p.type, p.size)) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (p.size > most_bodies) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
  if (!p.ctx) throw Refused{CUDA_ERROR_INVALID_CONTEXT};
  if (graph.of_node && !graph.body_of) throw Refused{CUDA_ERROR_INVALID_VALUE};
  const auto condition = condition_of(graph, p.handle);
  const auto used_by = condition->node.lock();
  if (owner_of(session.context(p.ctx)) != condition->context || (used_by && used_by->graph))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  session.driver.schedule.need_kernel_thread();

  Operation operation;
  operation.what = "conditional";
  operation.accesses = {condition->access(false)};
  operation.conditional = std::make_shared<const Conditional>(Conditional{condition, p.type});
  const auto node = add_node(session.driver, graph, depends_on, node_work(std::move(operation)));
  condition->node = node;
  for (unsigned i = 0; i < p.size; ++i) {
    const auto body = new_graph(session.driver);
    body->of_node = true;
    body->body_of = node.get();
    node->bodies.push_back(body);
    node->body_handles.push_back(body->handle);
  }
  p.phGraph_out = node->body_handles.data();
  return node;
}

namespace {

bool may_be_inside(const GraphNode &node, const Context &context) {
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return node.work->launch && node.work->launch->context.get() == &context;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return true;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return node.work->conditional->condition->context.get() == &context;
    default:
      return false;
  }
}

// Within a conditional node of this context, or outside of any.
Unfit unfit(const Graph &graph, const Context *context) {
  for (auto &condition : graph.conditions) {
    const auto node = condition->node.lock();
    if (!node || !node->graph) return {CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, nullptr};
  }
  for (auto &node : graph.nodes) {
    if (context && !may_be_inside(*node, *context))
      return {CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, node};
    const Context *around =
        node->bodies.empty() ? context : node->work->conditional->condition->context.get();
    auto parts = node->bodies;
    if (node->child) parts.push_back(node->child);
    for (auto &part : parts) {
      if (part->capturing) return {CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, node};
      if (const Unfit found = unfit(*part, around); found.result) return found;
    }
  }
  return {};
}

}  // namespace

Unfit unfit(const Graph &graph, std::uint64_t flags) {
  // A device can launch kernels, copies and memsets, and graphs of these.
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    for (auto &node : graph.nodes) {
      const bool is_graph = node->type == CU_GRAPH_NODE_TYPE_GRAPH;
      if (node->type > CU_GRAPH_NODE_TYPE_MEMSET && !is_graph)
        return {CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node};
      if (!is_graph) continue;
      if (const Unfit found = unfit(*node->child, flags); found.result) return found;
    }
  return unfit(graph, nullptr);
}

namespace {

// Those that run inside a node, unlike the node itself, are launches.
LaunchWork &launch_of(const Operation &operation) {
  return static_cast<LaunchWork &>(*operation.kernel);
}

// An operation in a body, with its place in logical time.
OperationPtr once_more(const Operation &operation, const Step &place) {
  auto again = std::make_shared<Operation>(operation);
  auto step = std::make_shared<Step>(*operation.step);
  step->moment = place.moment;
  again->step = std::move(step);
  if (operation.kernel) again->kernel = launch_of(operation).again();
  return again;
}

}  // namespace

ConditionalRun::ConditionalRun(std::shared_ptr<const GraphPlan> plan, std::size_t step,
                               std::vector<OperationPtr> inside)
    : plan_(std::move(plan)),
      step_(step),
      first_(step - inside.size()),
      inside_(std::move(inside)) {
  for (auto &operation : inside_)
    if (operation->kernel) launch_of(*operation).share(patience_);
}

ConditionalRun::~ConditionalRun() {
  for (auto &operation : inside_) driver()->races.has_told(*operation);
}

std::string ConditionalRun::name() const {
  switch (plan_->steps[step_].work->conditional->type) {
    case CU_GRAPH_COND_TYPE_WHILE:
      return "while";
    case CU_GRAPH_COND_TYPE_SWITCH:
      return "switch";
    default:
      return "if";
  }
}

void ConditionalRun::run(const Operation &operation) {
  patience_.begin();
  run_node(step_, operation.step, nullptr);
  const auto &context = plan_->steps[step_].work->conditional->condition->context;
  if (!patience_.is_out_of_time() || context->error != CUDA_SUCCESS) return;
  tell_fault("A conditional node has run a body of a while " + std::to_string(repeated_) +
                 " times. " + Patience::end_of_time(),
             operation);
  Lock lock(simulator_mutex());
  context->error = CUDA_ERROR_LAUNCH_TIMEOUT;
}

void ConditionalRun::run_node(std::size_t step, const StepPtr &own, StepPtr place) {
  const Conditional &what = *plan_->steps[step].work->conditional;
  while (const auto body = chosen_body(step)) {
    run_body(step, *body, place);
    if (what.type != CU_GRAPH_COND_TYPE_WHILE || !may_repeat(*what.condition->context)) return;
    if (!place) place = own;
  }
}

std::optional<std::size_t> ConditionalRun::chosen_body(std::size_t step) const {
  const Conditional &what = *plan_->steps[step].work->conditional;
  const std::size_t count = plan_->steps[step].bodies.size();
  std::size_t body = what.condition->value();
  if (what.type != CU_GRAPH_COND_TYPE_SWITCH) body = body ? 0 : 1;
  return body < count ? std::optional(body) : std::nullopt;
}

bool ConditionalRun::may_repeat(const Context &context) {
  constexpr std::uint64_t often = 1000;
  if (++repeated_ == often) patience_.goes_on();
  return !patience_.is_over(context);
}

void ConditionalRun::run_body(std::size_t step, std::size_t body, const StepPtr &place) {
  const auto &bodies = plan_->steps[step].bodies;
  const std::size_t end = body + 1 < bodies.size() ? bodies[body + 1] : step;
  for (std::size_t i = bodies[body]; i < end; ++i)
    if (plan_->steps[i].within == step) run_step(i, place);
}

void ConditionalRun::run_step(std::size_t step, const StepPtr &place) {
  auto operation = inside_[step - first_];
  if (place) operation = once_more(*operation, *place);
  Lock lock(simulator_mutex());
  if (!may_run(*operation)) return;
  if (operation->launch) tally().kernels.fetch_add(1, std::memory_order_relaxed);
  if (operation->kernel) {
    run_kernel(*operation, lock);
    return;
  }
  run_work(*operation);
  driver()->races.ran(*operation);
  lock.unlock();
  if (plan_->steps[step].work->conditional) run_node(step, operation->step, place);
}

}  // namespace simcuda
