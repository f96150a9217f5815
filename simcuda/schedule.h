// SPDX-License-Identifier: BSD-3-Clause
// Decides when work runs. Work is only ever late, never early: an operation runs after all that it
// waits for, and under the lazy policy not before somebody needs it. Of several that could run, the
// one submitted last goes first: where nothing orders two of them, the client learns of it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "objects.h"

namespace simcuda {

using Lock = std::unique_lock<std::mutex>;

class Schedule {
 public:
  enum class Policy { lazy, eager };

  Schedule(Policy policy, std::chrono::milliseconds quiet) : policy_(policy), quiet_(quiet) {}

  // All of these with the simulator's lock held.
  void submit(OperationPtr operation);
  // Work of the stream beside its line: it waits for nothing but what it says.
  void submit_beside(const OperationPtr &operation) { enqueue(operation); }
  // What an operation submitted to this stream now would have to wait for.
  std::vector<OperationPtr> predecessors(Stream &stream) const;
  // What a host that waits for this stream waits for.
  std::vector<OperationPtr> awaited(Stream &stream) const;
  // Runs these, and what they wait for, as far as that goes without waiting for a host function.
  void demand(const std::vector<OperationPtr> &operations);
  // The same, and waits for the rest; the lock is free meanwhile.
  void finish(const std::vector<OperationPtr> &operations, Lock &lock);
  // A query: the first says no for work that is pending, a later one gets it done. Where work
  // keeps a stream busy, each passes a virtual millisecond of that first.
  bool query(const std::vector<OperationPtr> &operations);
  std::vector<OperationPtr> pending_of(const Context *context) const;  // null: of all
  std::size_t pending() const { return pending_.size(); }

  // Calls this on the driver's thread, with no lock held, as soon as can be.
  void call_later(std::function<void()> function);

  // Every driver call says so: the quiet time counts from the last one.
  void touch() {
    last_call_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  void enqueue(const OperationPtr &operation);
  void mark(const std::vector<OperationPtr> &operations);
  void advance();
  // Of these and what they wait for, whatever keeps a stream busy: passes so much of its time, and
  // says whether some is left.
  bool busy_after(const std::vector<OperationPtr> &operations, std::uint64_t ns);
  void complete(Operation &operation);
  void work();
  void start_worker();
  Clock::time_point deadline() const;

  const Policy policy_;
  const std::chrono::milliseconds quiet_;
  std::map<std::uint64_t, OperationPtr> pending_;  // in order of submission
  std::map<std::uint64_t, OperationPtr> ready_;    // those that are demanded and wait for nothing
  std::deque<OperationPtr> handed_over_;
  std::deque<std::function<void()>> called_later_;
  std::condition_variable done_, wake_;
  std::atomic<Clock::rep> last_call_{0};
  std::uint64_t last_id_ = 0;
  std::uint64_t clock_ns_ = 0;
  std::size_t busy_ = 0;  // operations that keep a stream busy
  bool worker_started_ = false;
};

}  // namespace simcuda
