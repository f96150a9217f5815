// SPDX-License-Identifier: BSD-3-Clause
// Decides when work runs. Work is only ever late, never early: an operation runs after all that it
// waits for, and under the lazy policy only when something needs it. Of several operations that
// could run, the last submitted one runs first, so that a missing order shows. The random policy
// draws both from a seed: when an operation runs, and which one runs first.
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

// A thread started meanwhile takes no signals: they are for the client's threads.
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

  // The simulator's lock must be held for all of these. submit(): work for a stream, after all that
  // the stream, and what it waits for, orders before it.
  void submit(OperationPtr operation);
  // Work that waits only for these, and for what it already waits for.
  void enqueue(OperationPtr operation, const std::vector<OperationPtr> &predecessors);
  // Gives work in a body of a conditional node its place in logical time. The node runs it.
  void announce(Operation &operation);
  // What an operation submitted to this stream now comes after. Some of it may be done.
  std::vector<OperationPtr> predecessors(Stream &stream) const;
  // That point in logical time.
  Moment reached(Stream &stream) const { return races_.after(predecessors(stream)); }
  // What a host that waits for this stream comes after.
  std::vector<OperationPtr> awaited(Stream &stream) const;
  // Runs these and what they wait for, except what would wait for a host function.
  void demand(const std::vector<OperationPtr> &operations);
  // The same, and waits for the rest; releases the lock meanwhile.
  void finish(const std::vector<OperationPtr> &operations, Lock &lock);
  // What an event wait waits for in another process has happened.
  void release(const OperationPtr &operation);
  // A query: the first one returns false for pending work, and a later one runs it. If work keeps a
  // stream busy, each query first passes a virtual millisecond of that.
  bool query(const std::vector<OperationPtr> &operations, Lock &lock);
  std::vector<OperationPtr> pending_of(const Races::Chosen &chosen) const;
  // The host has waited for all work of a context, which may have been done before.
  void host_waited(const Context &context) { host_ns_ = std::max(host_ns_, context.last_ns); }
  std::size_t pending() const { return pending_.size(); }

  // Waits until demanded work is done, except for kernels that run for long.
  void settle(Lock &lock);
  // Waits until no running kernel uses this.
  void finish_uses_of(const Allocation &allocation, Lock &lock);
  // Makes sure that there is a thread for kernels.
  void need_kernel_thread();
  // Called without the lock: a kernel runs for long, so others may begin beside it.
  void goes_on(const KernelWork &kernel);

  // Calls this on the driver's thread soon, without a lock.
  void call_later(std::function<void()> function);

  // Called at the beginning of a call: what is pending must not depend on the speed of a kernel.
  // Under the random policy, runs some of it.
  void stir(Lock &lock);
  // The random policy draws from this seed, as from its first one at the start.
  void reseed(std::uint64_t seed);
  // Called by every driver call: the quiet time counts from the last one.
  void touch() {
    last_call_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }

 private:
  void note_blocking(Stream &stream);
  void mark(const std::vector<OperationPtr> &operations);
  void advance();
  // Passes time of the work that keeps a stream busy, among these and what they wait for. Returns
  // whether any time is left.
  bool busy_after(const std::vector<OperationPtr> &operations, std::uint64_t ns);
  void complete(Operation &operation);
  void host_waited(const std::vector<OperationPtr> &operations);
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
  // Operations that nothing has demanded yet, or that keep a stream busy; with their host
  // functions.
  std::size_t waiting_ = 0;
  std::map<std::uint64_t, OperationPtr> waiting_functions_;
  // Demanded operations that wait for nothing, the most urgent last.
  std::map<std::uint64_t, OperationPtr> ready_;
  std::deque<OperationPtr> handed_over_;
  std::deque<std::function<void()>> called_later_;
  std::condition_variable done_, wake_, kernel_wake_;
  std::deque<OperationPtr> kernels_;  // kernels that wait for a thread
  std::size_t kernel_threads_ = 0, idle_kernel_threads_ = 0;
  // A kernel that has just begun. Most end at once. Until it ends, or turns out to run for long,
  // nothing else begins, so that the order of execution is reproducible.
  OperationPtr fresh_;
  std::atomic<Clock::rep> last_call_{0};
  std::uint64_t last_id_ = 0;
  std::uint64_t seeded_at_ = 0;  // the last operation's id at that time
  std::uint64_t host_ns_ = 0;    // on the virtual clock: until when the host has waited
  std::size_t busy_ = 0;         // operations that keep a stream busy
  std::uint64_t calls_ = 0;
  bool worker_started_ = false;
};

}  // namespace simcuda
