// SPDX-License-Identifier: BSD-3-Clause
// Launches of executable graphs.
#include "capture.h"
#include "conditional.h"

namespace simcuda {
namespace {

void capture_launch(Session &session, const GraphPlan &plan, Stream &stream) {
  // A second executable graph would share memory or conditions, which only launches of the same one
  // keep apart.
  if (plan.has_memory_nodes() || plan.has_conditional_nodes())
    throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  Operation child;
  child.what = "graph";
  set_child(session.driver, *capture_operation(stream, std::move(child)), plan);
}

// Values that are the same at the beginning of each launch.
void set_conditions(const GraphPlan &plan, Operation &opening) {
  std::vector<std::shared_ptr<Condition>> conditions;
  for (auto &step : plan.steps)
    if (step.work->conditional && step.work->conditional->condition->at_launch)
      conditions.push_back(step.work->conditional->condition);
  if (conditions.empty()) return;
  for (auto &condition : conditions) opening.accesses.push_back(condition->access(true));
  opening.run = [conditions = std::move(conditions)] {
    for (auto &condition : conditions) condition->set(*condition->at_launch);
  };
}

OperationPtr operation_of(const GraphPlan::Step &step, const std::shared_ptr<Stream> &stream) {
  auto operation = std::make_shared<Operation>();
  operation->what = step.work->what;
  operation->stream = stream;
  operation->made_at = step.node->made_at;
  operation->branch = step.branch;
  if (!step.enabled) return operation;
  operation->accesses = step.work->accesses;
  operation->run = step.work->run;
  operation->host_function = step.work->host_function;
  operation->launch = step.work->launch;
  operation->conditional = step.work->conditional;
  operation->duration_ns = step.work->duration_ns;
  operation->busy_ns = step.work->busy_ns;
  return operation;
}

// Work in a conditional node begins after what the node waits for, and ends before what waits for
// the node.
void enqueue(Session &session, const std::shared_ptr<const GraphPlan> &plan, std::size_t index,
             const std::vector<OperationPtr> &operations) {
  const GraphPlan::Step &step = plan->steps[index];
  Operation &operation = *operations[index];
  begin_kernel(operation);
  if (!step.bodies.empty()) {
    const auto begin = operations.begin();
    const std::vector<OperationPtr> inside(begin + static_cast<std::ptrdiff_t>(step.bodies.front()),
                                           begin + static_cast<std::ptrdiff_t>(index));
    for (auto &each : inside) operation.reached.push_back(each->step->moment);
    if (!step.within) operation.kernel = std::make_shared<ConditionalRun>(plan, index, inside);
  }
  if (step.within)
    session.driver.schedule.announce(operation);
  else
    session.driver.schedule.enqueue(operations[index], {});
}

}  // namespace

void launch(Session &session, const std::shared_ptr<GraphExec> &exec,
            const std::shared_ptr<Stream> &stream) {
  const auto plan = exec->plan;
  if (stream->capture) return capture_launch(session, *plan, *stream);
  back_memory(session, *plan);  // first: meanwhile other threads may call
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
  set_conditions(*plan, *opening);
  const auto closing = operation_for("graph end");
  std::vector<OperationPtr> operations;
  std::vector<bool> waited_for(plan->steps.size(), false);
  for (auto &step : plan->steps) {
    auto operation = operation_of(step, stream);
    const GraphPlan::Step *begins = &step;  // together with the node that contains it
    while (begins->after.empty() && begins->within) begins = &plan->steps[*begins->within];
    for (auto index : begins->after) {
      operation->waits_for.push_back(operations[index]);
      waited_for[index] = true;
    }
    if (begins->after.empty()) operation->waits_for.push_back(opening);
    // For the event's record before this launch.
    if (step.node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && step.event->recorded)
      operation->waits_for.push_back(step.event->recorded);
    operations.push_back(std::move(operation));
  }
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (!waited_for[i] && !plan->steps[i].within) closing->waits_for.push_back(operations[i]);
  // The launched graph stays until it is done.
  closing->run = [exec, held = plan->user_objects] {};
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
  for (std::size_t i = 0; i < operations.size(); ++i) enqueue(session, plan, i, operations);
  session.driver.schedule.submit(closing);
}

}  // namespace simcuda
