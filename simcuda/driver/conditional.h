// SPDX-License-Identifier: BSD-3-Clause
// Conditional nodes of graphs: their conditions, and how their bodies run.
#pragma once

#include "graph.h"
#include "launch_work.h"

namespace simcuda {

// The value of a conditional node, which kernels set. Its handle is its address on the device, so
// to set it is to write there.
struct Condition {
  Condition(const std::shared_ptr<Context> &its_context, std::optional<std::uint32_t> value);
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;
  ~Condition();

  const std::shared_ptr<Context> context;
  const AllocationPtr memory;
  const std::optional<std::uint32_t> at_launch;  // if empty, keeps the value from before
  std::weak_ptr<GraphNode> node;                 // the node with this condition

  std::uint32_t value() const;
  void set(std::uint32_t value);
  Access access(bool write) const;
};

// What a conditional node does.
struct Conditional {
  std::shared_ptr<Condition> condition;
  int type = CU_GRAPH_COND_TYPE_IF;
};

GraphNodePtr add_conditional(Session &session, Graph &graph,
                             const std::vector<GraphNodePtr> &depends_on,
                             CUDA_CONDITIONAL_NODE_PARAMS &parameters);

// A conditional node of a launched graph, as it runs: on a thread of its own, since its bodies have
// kernels. The first time, each operation is reported to the race detector at its own place in
// logical time, and in repetitions at the place of the node whose body is repeated.
class ConditionalRun final : public KernelWork {
 public:
  // The node is this step of the plan. Its bodies are the steps before it, as many as there are
  // operations.
  ConditionalRun(std::shared_ptr<const GraphPlan> plan, std::size_t step,
                 std::vector<OperationPtr> inside);
  // With the simulator's lock held. Operations that did not run will not report what they use.
  ~ConditionalRun() override;

  std::string name() const override;
  void run(const Operation &operation) override;
  void ran(const Operation &) override {}  // the operations inside have reported it

 private:
  // `own` is the node's own place; `place` is that of all operations inside it, or null if each has
  // its own.
  void run_node(std::size_t step, const StepPtr &own, StepPtr place);
  void run_body(std::size_t step, std::size_t body, const StepPtr &place);
  void run_step(std::size_t step, const StepPtr &place);
  std::optional<std::size_t> chosen_body(std::size_t step) const;
  bool may_repeat(const Context &context);

  const std::shared_ptr<const GraphPlan> plan_;
  const std::size_t step_, first_;
  const std::vector<OperationPtr> inside_;
  Patience patience_{*this};
  std::uint64_t repeated_ = 0;
};

}  // namespace simcuda
