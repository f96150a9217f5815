// SPDX-License-Identifier: BSD-3-Clause
// Decides when work runs. Work is only ever late, never early: an operation runs after all that it
// waits for, and under the lazy policy not before something needs it. Of several that could run,
// the one submitted last goes first: where nothing orders two of them, the client learns of it. The
// random policy draws both from a seed: when something runs, and what runs first.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "objects.h"
#include "race.h"

namespace simcuda {

using Lock = std::unique_lock<std::mutex>;

// A thread begun meanwhile takes no signals: they are for the client's own threads.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld &) = delete;
  SignalsHeld &operator=(const SignalsHeld &) = delete;

 private:
  sigset_t before_;
};

class Schedule {
 public:
  struct Policy {
    enum class Kind { lazy, eager, random } kind = Kind::lazy;
    std::uint64_t seed = 0;
  };

  Schedule(Policy policy, std::chrono::milliseconds quiet, Races &races)
      : policy_(policy), quiet_(quiet), races_(races) {}

  // All of these with the simulator's lock held.
  // Work for a stream: after all that the stream, and what it waits for, orders before it.
  void submit(OperationPtr operation);
  // Work that waits for these alone, and for what it waits for already.
  void enqueue(OperationPtr operation, const std::vector<OperationPtr> &predecessors);
  // Work in a body of a conditional node takes its place in logical time; the node runs it.
  void announce(Operation &operation);
  // What an operation submitted to this stream now comes after: some of that may be done.
  std::vector<OperationPtr> predecessors(Stream &stream) const;
  // That point of logical time.
  Moment reached(Stream &stream) const { return races_.after(predecessors(stream)); }
  // What a host that waits for this stream comes after.
  std::vector<OperationPtr> awaited(Stream &stream) const;
  // Runs these, and what they wait for, as far as that goes without waiting for a host function.
  void demand(const std::vector<OperationPtr> &operations);
  // The same, and waits for the rest; the lock is free meanwhile.
  void finish(const std::vector<OperationPtr> &operations, Lock &lock);
  // What an event's wait waits for in another process has happened.
  void release(const OperationPtr &operation);
  // A query: the first says no for work that is pending, a later one gets it done. Where work
  // keeps a stream busy, each passes a virtual millisecond of that first.
  bool query(const std::vector<OperationPtr> &operations, Lock &lock);
  std::vector<OperationPtr> pending_of(const Races::Chosen &chosen) const;
  std::size_t pending() const { return pending_.size(); }

  // Waits until what is wanted has been done, but for kernels that go on for long.
  void settle(Lock &lock);
  // Waits until no kernel that runs uses this.
  void finish_uses_of(const Allocation &allocation, Lock &lock);
  // There is a thread for kernels.
  void need_kernel_thread();
  // Without the lock: a kernel goes on for long, so that others begin beside it.
  void goes_on(const KernelWork &kernel);

  // Calls this on the driver's thread, with no lock held, as soon as can be.
  void call_later(std::function<void()> function);

  // A call begins: what is pending must not depend on how quick a kernel was. Under the random
  // policy some of it is done now.
  void stir(Lock &lock);
  // The random policy draws from this seed, as it did from its first one at the start.
  void reseed(std::uint64_t seed);
  // Every driver call says so: the quiet time counts from the last one.
  void touch() {
    last_call_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  void note_blocking(Stream &stream);
  void mark(const std::vector<OperationPtr> &operations);
  void advance();
  // Of these and what they wait for, whatever keeps a stream busy: passes so much of its time, and
  // says whether some is left.
  bool busy_after(const std::vector<OperationPtr> &operations, std::uint64_t ns);
  void complete(Operation &operation);
  void work();
  void start_worker();
  void begin_kernel(const OperationPtr &operation);
  void run_kernels();
  void start_kernel_thread();
  Clock::time_point deadline() const;

  std::uint64_t urgency(std::uint64_t id) const;

  Policy policy_;
  const std::chrono::milliseconds quiet_;
  Races &races_;
  std::map<std::uint64_t, OperationPtr> pending_;  // in order of submission
  // Those that have not been demanded yet, or that keep a stream busy; the host functions among
  // them.
  std::size_t waiting_ = 0;
  std::map<std::uint64_t, OperationPtr> waiting_functions_;
  // Those that are demanded and wait for nothing, the most urgent last.
  std::map<std::uint64_t, OperationPtr> ready_;
  std::deque<OperationPtr> handed_over_;
  std::deque<std::function<void()>> called_later_;
  std::condition_variable done_, wake_, kernel_wake_;
  std::deque<OperationPtr> kernels_;  // that wait for a thread
  std::size_t kernel_threads_ = 0, idle_kernel_threads_ = 0;
  // A kernel that has just begun. Most end at once: until that, or until it turns out to go on for
  // long, nothing else begins, so that what runs in which order repeats.
  OperationPtr fresh_;
  std::atomic<Clock::rep> last_call_{0};
  std::uint64_t last_id_ = 0;
  std::uint64_t seeded_at_ = 0;  // the last operation's, by then
  std::uint64_t clock_ns_ = 0;
  std::size_t busy_ = 0;  // operations that keep a stream busy
  std::uint64_t calls_ = 0;
  bool worker_started_ = false;
};

}  // namespace simcuda
