// SPDX-License-Identifier: BSD-3-Clause
// Finds races: two uses of the same memory, of which one writes, that nothing orders. They are
// looked for when work is submitted, in logical time: it does not matter when the work runs.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "objects.h"
#include "race_history.h"
#include "race_report.h"

namespace simcuda {

// All of it with the simulator's lock held.
class Races {
 public:
  explicit Races(RaceMode mode) : on_(mode != RaceMode::off), report_(mode) {}

  // Gives the operation its place in logical time, after all that it waits for and all that the
  // host has seen, and compares what it uses with what was used before.
  void submitted(Operation &operation);
  // The host goes on after these.
  void host_saw(const std::vector<OperationPtr> &operations);
  void host_saw(const std::vector<Moment> &moments);
  // A client may learn without a call that a host function runs, and that it has returned. So the
  // host goes on after all that comes before the function, and then after the function.
  void host_function_begins(const Operation &operation);
  void host_function_returned(const Operation &operation);
  // A kernel tells what it has used once it has run, if it did.
  struct Used {
    AllocationPtr allocation;
    std::shared_ptr<History> history;
    Effect effect;
    std::shared_ptr<const std::string> detail;
    std::vector<std::pair<std::size_t, std::size_t>> ranges;  // offsets in the allocation
  };
  void ran(const Operation &operation, const std::vector<Used> &used);
  // The same for what it has said before that it would use.
  void ran(const Operation &operation);
  void has_told(const Operation &operation);
  // Of what is there now; null if races are not looked for.
  std::shared_ptr<History> history_of(Allocation &allocation) const;
  // All work that the contexts that this says yes to have been given so far.
  using Chosen = std::function<bool(const Context &)>;
  std::vector<Moment> reached(const Chosen &chosen);
  // What comes after these and what the host has seen.
  Moment after(const std::vector<OperationPtr> &operations) const;

  // The host uses memory itself; in a host function, as a part of that.
  void host_uses(const Access &access);
  // A call frees memory at once.
  void host_frees(Allocation &allocation);
  // A call names memory after a stream was told to free it.
  void names_freed(const AllocationPtr &allocation, std::uintptr_t address, std::size_t size);
  // A kernel reads or writes it once it has been freed.
  void uses_freed(const Operation &operation, const AllocationPtr &allocation,
                  std::uintptr_t address, std::size_t size, Effect effect);

  // No more work will be submitted to this stream.
  void retire(Stream &stream);
  // Whatever is submitted from now on comes after this.
  bool is_settled(const OperationPtr &operation) const;

  // A number by which a client asks for a step later, until it is forgotten; 0 for none.
  std::uint64_t mark(const StepPtr &step);
  StepPtr marked(std::uint64_t mark) const;

  void forget(const std::vector<AllocationPtr> &allocations);

 private:
  struct LaneState {
    Moment last;
    std::shared_ptr<Context> context;
    std::shared_ptr<const Line> line;
    bool unsettled = false;  // it is in the list of those
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
  Whole whole_;                  // what was last learnt from
  std::vector<Lane> unsettled_;  // those that had work, until the host is found to have seen it
  std::vector<LaneState> lanes_ = std::vector<LaneState>(1);  // the first is the host's, not used
  std::deque<Lane> retired_;
  // Work that has yet to say what it uses, by lane: kernels and host functions that have not
  // returned.
  std::map<Lane, std::map<Tick, StepPtr>> untold_;
  History pageable_;  // memory that the driver does not know
  std::vector<StepPtr> marks_;
  std::uint64_t forgotten_marks_ = 0;  // numbers do not recur
};

}  // namespace simcuda
