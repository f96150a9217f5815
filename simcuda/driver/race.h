// SPDX-License-Identifier: BSD-3-Clause
// Finds races: two uses of the same memory, one of them a write, without an order between them.
// Races are looked for when work is submitted, in logical time. When the work runs does not matter.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "objects.h"
#include "race_history.h"
#include "race_report.h"

namespace simcuda {

// The simulator's lock must be held for all of it.
class Races {
 public:
  explicit Races(RaceMode mode) : on_(mode != RaceMode::off), report_(mode) {}

  // Gives the operation its place in logical time, after all that it waits for and all that the
  // host has seen, and compares its uses with earlier ones.
  void submitted(Operation &operation);
  // The host continues after these.
  void host_saw(const std::vector<OperationPtr> &operations);
  void host_saw(const std::vector<Moment> &moments);
  // A client can learn without a call that a host function runs, and that it has returned. So the
  // host continues after all that comes before the function, and then after the function.
  void host_function_begins(const Operation &operation);
  void host_function_returned(const Operation &operation);
  // A kernel reports its uses after it has run, if it ran.
  struct Used {
    AllocationPtr allocation;
    std::shared_ptr<History> history;
    Effect effect;
    std::shared_ptr<const std::string> detail;
    std::vector<std::pair<std::size_t, std::size_t>> ranges;  // offsets in the allocation
  };
  void ran(const Operation &operation, const std::vector<Used> &used);
  // The same for uses that it stated before.
  void ran(const Operation &operation);
  void has_told(const Operation &operation);
  // The history of the present allocation; null if races are not looked for.
  std::shared_ptr<History> history_of(Allocation &allocation) const;
  // All work so far of the contexts for which `chosen` returns true.
  using Chosen = std::function<bool(const Context &)>;
  std::vector<Moment> reached(const Chosen &chosen);
  // The point after these operations and all that the host has seen.
  Moment after(const std::vector<OperationPtr> &operations) const;

  // The host uses memory, in a host function as a part of that.
  void host_uses(const Access &access);
  // A call frees memory at once.
  void host_frees(Allocation &allocation);
  // A call names memory after a stream was told to free it.
  void names_freed(const AllocationPtr &allocation, std::uintptr_t address, std::size_t size);
  // A kernel reads or writes memory that was freed.
  void uses_freed(const Operation &operation, const AllocationPtr &allocation,
                  std::uintptr_t address, std::size_t size, Effect effect);

  // No more work will be submitted to this stream.
  void retire(Stream &stream);
  // Whether all work submitted from now on comes after this.
  bool is_settled(const OperationPtr &operation) const;

  // A number by which a client names a step later; 0: no step. Valid until simcuda_forget().
  std::uint64_t mark(const StepPtr &step);
  StepPtr marked(std::uint64_t mark) const;

  void forget(const std::vector<AllocationPtr> &allocations);

 private:
  struct LaneState {
    Moment last;
    std::shared_ptr<Context> context;
    std::shared_ptr<const Line> line;
    bool unsettled = false;  // whether it is in unsettled_
  };

  void host_saw(const Moment &moment);
  Lane lane_of(Operation &operation);
  Lane take_lane();
  bool may_race_yet(const Step &step, const Step *until) const;
  bool settled(const Step &step) const;
  StepPtr here();
  void use(const StepPtr &step, const Access &access, Effect effect);
  template <class Each>
  void use(History &history, const AllocationPtr &allocation, const Use &mine,
           const Each &each_range);
  History::UsesPtr add(const History::UsesPtr &before, const Use &mine,
                       const std::function<void(const Use &)> &races_with) const;
  void sweep(History &history) const;

  const bool on_;
  RaceReport report_;
  Moment host_;
  Whole whole_;                  // the last ones learnt from
  std::vector<Lane> unsettled_;  // those with work that the host is not known to have seen
  std::vector<LaneState> lanes_ = std::vector<LaneState>(1);  // the first is the host's, not used
  std::deque<Lane> retired_;
  // Work that has not reported its uses yet, by lane: kernels and host functions that have not
  // returned.
  std::map<Lane, std::map<Tick, StepPtr>> untold_;
  History pageable_;  // memory that the driver does not know
  std::vector<StepPtr> marks_;
  std::uint64_t forgotten_marks_ = 0;  // numbers do not recur
};

}  // namespace simcuda
