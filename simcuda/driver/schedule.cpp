// SPDX-License-Identifier: BSD-3-Clause
#include "schedule.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <system_error>
#include <thread>

#include "call.h"
#include "stand_in.h"
#include "tally.h"

namespace simcuda {
namespace {

// Real clients wait for a host function without a driver call, so it must not wait until a busy
// client is quiet: it runs after this time at the latest.
constexpr std::chrono::milliseconds host_function_due{10};
constexpr std::size_t most_kernel_threads = 128;  // as many kernels as a device runs at once

bool is_done(const OperationPtr &operation) {
  return operation->state == Operation::State::done;
}

// Mixes the bits of both. Different ids give different results.
std::uint64_t scramble(std::uint64_t seed, std::uint64_t id) {
  std::uint64_t x = id + seed * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

SignalsHeld::SignalsHeld() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsHeld::~SignalsHeld() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<OperationPtr> Schedule::predecessors(Stream &stream) const {
  std::vector<OperationPtr> found;
  auto add = [&](const OperationPtr &tail) {
    if (tail) found.push_back(tail);
  };
  add(stream.tail);
  Context &context = *stream.context;
  add(context.gate);
  if (context.parent) add(context.parent->gate);
  if (stream.kind == Stream::Kind::legacy) {
    for (auto &other : context.blocking) add(other->tail);
  } else if (stream.blocking() && context.legacy) {
    add(context.legacy->tail);
  }
  return found;
}

std::vector<OperationPtr> Schedule::awaited(Stream &stream) const {
  if (stream.kind == Stream::Kind::legacy) return predecessors(stream);
  return stream.tail ? std::vector<OperationPtr>{stream.tail} : std::vector<OperationPtr>{};
}

void Schedule::submit(OperationPtr operation) {
  Stream &stream = *operation->stream;
  const auto before = predecessors(stream);
  stream.tail = operation;
  note_blocking(stream);
  enqueue(std::move(operation), before);
}

void Schedule::note_blocking(Stream &stream) {
  auto &blocking = stream.context->blocking;
  const auto drop = [](Stream &other) { other.before_legacy = false; };
  if (stream.kind == Stream::Kind::legacy) {
    // Work that comes after this comes after those, too.
    for (auto &other : blocking) drop(*other);
    blocking.clear();
  } else if (stream.blocking() && !stream.before_legacy) {
    if (blocking.size() >= stream.context->most_blocking) {
      std::erase_if(blocking, [&](auto &other) {
        const bool over = is_done(other->tail) && races_.is_settled(other->tail);
        if (over) drop(*other);
        return over;
      });
      stream.context->most_blocking = std::max<std::size_t>(64, 2 * blocking.size());
    }
    stream.before_legacy = true;
    blocking.push_back(stream.shared_from_this());
  }
}

void Schedule::enqueue(OperationPtr operation, const std::vector<OperationPtr> &predecessors) {
  operation->id = ++last_id_;
  operation->submitted = Clock::now();
  auto &waits_for = operation->waits_for;
  waits_for.insert(waits_for.end(), predecessors.begin(), predecessors.end());
  races_.submitted(*operation);
  waits_for.insert(waits_for.end(), operation->merely_after.begin(), operation->merely_after.end());
  operation->merely_after.clear();
  operation->begins_ns = host_ns_;
  for (auto &before : waits_for)
    operation->begins_ns = std::max(operation->begins_ns, before->finished_ns);
  std::erase_if(waits_for, is_done);
  for (auto &before : waits_for) before->followers.push_back(operation);
  operation->blockers = waits_for.size() + operation->external;
  pending_.emplace(operation->id, operation);
  ++waiting_;
  if (operation->host_function) waiting_functions_.emplace(operation->id, operation);
  if (operation->busy_ns) ++busy_;
  if (std::strcmp(operation->what, "kernel") == 0)
    tally().kernels.fetch_add(1, std::memory_order_relaxed);
  if (policy_.kind == Policy::Kind::eager) demand({operation});
  // The worker looks by itself while there is work. Host functions are due sooner than the rest.
  const bool news = pending_.size() == 1 || operation->host_function;
  if (operation->state != Operation::State::done && quiet_.count() > 0 && news) start_worker();
}

void Schedule::announce(Operation &operation) {
  operation.id = ++last_id_;
  operation.inside = true;
  races_.submitted(operation);
  operation.waits_for.clear();
}

void Schedule::call_later(std::function<void()> function) {
  called_later_.push_back(std::move(function));
  start_worker();
}

std::uint64_t Schedule::urgency(std::uint64_t id) const {
  return policy_.kind == Policy::Kind::random ? scramble(policy_.seed, id - seeded_at_) : id;
}

void Schedule::stir(Lock &lock) {
  if (policy_.kind == Policy::Kind::lazy) return;
  settle(lock);
  if (policy_.kind != Policy::Kind::random || pending_.empty()) return;
  // Drawn from the number of the call, not from a state that other threads draw from.
  std::uint64_t draw = scramble(~policy_.seed, ++calls_);
  const std::uint64_t first = pending_.begin()->first, last = std::prev(pending_.end())->first;
  std::vector<OperationPtr> wanted;
  for (unsigned count = draw % 4; count > 0; --count) {
    draw = scramble(policy_.seed, draw);
    wanted.push_back(pending_.lower_bound(first + draw % (last - first + 1))->second);
  }
  demand(wanted);
}

void Schedule::reseed(std::uint64_t seed) {
  policy_.seed = seed;
  calls_ = 0;
  seeded_at_ = last_id_;
}

void Schedule::mark(const std::vector<OperationPtr> &operations) {
  std::vector<OperationPtr> todo = operations;
  while (!todo.empty()) {
    OperationPtr operation = std::move(todo.back());
    todo.pop_back();
    if (is_done(operation) || operation->demanded) continue;
    operation->demanded = true;
    if (operation->host_function) waiting_functions_.erase(operation->id);
    if (!operation->busy_ns) --waiting_;
    if (operation->blockers == 0 && !operation->busy_ns)
      ready_.emplace(urgency(operation->id), operation);
    todo.insert(todo.end(), operation->waits_for.begin(), operation->waits_for.end());
  }
}

// The caller holds the operation: a reference released here may have been the only other one.
void Schedule::complete(Operation &operation) {
  // Virtual, so that elapsed times repeat. Work takes place side by side unless it is ordered.
  const std::uint64_t extra_ns = operation.kernel ? operation.kernel->nanoseconds() : 0;
  operation.finished_ns = operation.begins_ns + operation.duration_ns + extra_ns;
  std::uint64_t &last_ns = operation.stream->context->last_ns;
  last_ns = std::max(last_ns, operation.finished_ns);
  operation.state = Operation::State::done;
  if (operation.host_function) races_.host_function_returned(operation);
  if (operation.kernel) races_.has_told(operation);
  pending_.erase(operation.id);
  for (auto &next : operation.followers) {
    next->begins_ns = std::max(next->begins_ns, operation.finished_ns);
    if (--next->blockers == 0 && next->demanded && !next->busy_ns)
      ready_.emplace(urgency(next->id), next);
  }
  operation.followers.clear();
  operation.waits_for.clear();
  operation.accesses.clear();
  operation.run = nullptr;
  operation.host_function = nullptr;
  operation.kernel = nullptr;
  operation.launch = nullptr;
  // A stream or an event may keep a finished operation for long. The operation keeps nothing.
  operation.stream = nullptr;
}

void Schedule::advance() {
  while (!ready_.empty() && !fresh_) {
    const OperationPtr operation = ready_.extract(std::prev(ready_.end())).mapped();
    if (operation->host_function && may_run(*operation)) {
      operation->state = Operation::State::handed_over;
      handed_over_.push_back(operation);
      start_worker();
      continue;
    }
    if (operation->kernel && may_run(*operation)) {
      begin_kernel(operation);
      continue;
    }
    run_work(*operation);
    complete(*operation);
  }
  done_.notify_all();
}

void Schedule::demand(const std::vector<OperationPtr> &operations) {
  mark(operations);
  advance();
}

void Schedule::release(const OperationPtr &operation) {
  if (--operation->blockers == 0 && operation->demanded)
    ready_.emplace(urgency(operation->id), operation);
  advance();
}

bool Schedule::busy_after(const std::vector<OperationPtr> &operations, std::uint64_t ns) {
  if (busy_ == 0) return false;
  bool left = false;
  std::set<const Operation *> seen;
  auto todo = operations;
  while (!todo.empty()) {
    const OperationPtr operation = std::move(todo.back());
    todo.pop_back();
    if (is_done(operation) || !seen.insert(operation.get()).second) continue;
    todo.insert(todo.end(), operation->waits_for.begin(), operation->waits_for.end());
    if (!operation->busy_ns) continue;
    operation->busy_ns -= std::min(operation->busy_ns, ns);
    if (operation->busy_ns) {
      left = true;
      continue;
    }
    --busy_;
    if (operation->demanded) --waiting_;
    if (operation->demanded && operation->blockers == 0)
      ready_.emplace(urgency(operation->id), operation);
  }
  return left;
}

void Schedule::finish(const std::vector<OperationPtr> &operations, Lock &lock) {
  busy_after(operations, UINT64_MAX);
  demand(operations);
  auto next = operations.begin();  // those before it are done
  const auto all_done = [&] {
    next = std::find_if_not(next, operations.end(), is_done);
    return next == operations.end();
  };
  const std::chrono::seconds long_time(5);
  while (!done_.wait_for(lock, long_time, all_done)) say_what_stands_in();
  host_waited(operations);
}

void Schedule::host_waited(const std::vector<OperationPtr> &operations) {
  for (auto &operation : operations) host_ns_ = std::max(host_ns_, operation->finished_ns);
}

bool Schedule::query(const std::vector<OperationPtr> &operations, Lock &lock) {
  const std::uint64_t passed_ns = 1000000;
  const bool busy = busy_after(operations, passed_ns);
  advance();
  if (busy) return false;
  bool asked_before = true;
  for (auto &operation : operations) {
    if (is_done(operation)) continue;
    asked_before = asked_before && operation->queried;
    operation->queried = true;
  }
  if (asked_before) demand(operations);
  settle(lock);
  const bool done = std::all_of(operations.begin(), operations.end(), is_done);
  if (done) host_waited(operations);
  return done;
}

void Schedule::settle(Lock &lock) {
  done_.wait(lock, [this] { return !fresh_; });
}

void Schedule::finish_uses_of(const Allocation &allocation, Lock &lock) {
  done_.wait(lock, [&] { return allocation.kernels == 0; });
}

std::vector<OperationPtr> Schedule::pending_of(const Races::Chosen &chosen) const {
  std::vector<OperationPtr> found;
  for (auto &[id, operation] : pending_)
    if (chosen(*operation->stream->context)) found.push_back(operation);
  return found;
}

void Schedule::start_worker() {
  if (worker_started_) {
    wake_.notify_all();
    return;
  }
  const SignalsHeld held;
  // Detached: it must not delay the end of the process. All that it uses lives forever.
  std::thread([this] { work(); }).detach();
  worker_started_ = true;
}

void Schedule::need_kernel_thread() {
  if (kernel_threads_ == 0) start_kernel_thread();
}

void Schedule::start_kernel_thread() {
  const SignalsHeld held;
  std::thread([this] { run_kernels(); }).detach();  // as the worker
  ++kernel_threads_;
  ++idle_kernel_threads_;
}

void Schedule::begin_kernel(const OperationPtr &operation) {
  operation->state = Operation::State::handed_over;
  kernels_.push_back(operation);
  bool begins = kernels_.size() <= idle_kernel_threads_;
  if (!begins && kernel_threads_ < most_kernel_threads) try {
      start_kernel_thread();
      begins = true;
    } catch (const std::system_error &) {  // it must wait for one of the existing threads
    }
  if (begins) fresh_ = operation;
  kernel_wake_.notify_one();
}

void Schedule::goes_on(const KernelWork &kernel) {
  Lock lock(simulator_mutex());
  if (!fresh_ || fresh_->kernel.get() != &kernel) return;
  fresh_ = nullptr;
  advance();
}

void Schedule::run_kernels() {
  become_driver_thread();
  Lock lock(simulator_mutex());
  for (;;) {
    kernel_wake_.wait(lock, [this] { return !kernels_.empty(); });
    --idle_kernel_threads_;
    const OperationPtr operation = std::move(kernels_.front());
    kernels_.pop_front();
    if (may_run(*operation)) run_kernel(*operation, lock);
    if (fresh_ == operation) fresh_ = nullptr;
    ++idle_kernel_threads_;
    complete(*operation);
    advance();
  }
}

Clock::time_point Schedule::deadline() const {
  auto due = Clock::time_point::max();
  if (quiet_.count() == 0) return due;
  const Clock::time_point last_call{Clock::duration{last_call_.load(std::memory_order_relaxed)}};
  if (waiting_) due = last_call + quiet_;
  if (!waiting_functions_.empty())
    due = std::min(due, waiting_functions_.begin()->second->submitted +
                            std::min<Clock::duration>(quiet_, host_function_due));
  return due;
}

void Schedule::work() {
  become_driver_thread();
  Lock lock(simulator_mutex());
  for (;;) {
    if (!handed_over_.empty()) {
      OperationPtr operation = handed_over_.front();
      handed_over_.pop_front();
      if (may_run(*operation)) {
        log_operation(*operation);
        thread_state().running = operation->step;
        races_.host_function_begins(*operation);
        lock.unlock();
        operation->host_function();
        lock.lock();
      }
      complete(*operation);
      advance();
      continue;
    }
    if (!called_later_.empty()) {
      const auto function = std::move(called_later_.front());
      called_later_.pop_front();
      thread_state().running = nullptr;
      lock.unlock();
      function();
      lock.lock();
      continue;
    }
    const auto due = deadline();
    if (due == Clock::time_point::max()) {
      wake_.wait(lock);
    } else if (Clock::now() < due) {
      wake_.wait_until(lock, due);
    } else {
      std::vector<OperationPtr> wanted;
      const Clock::time_point last_call{
          Clock::duration{last_call_.load(std::memory_order_relaxed)}};
      const bool quiet = Clock::now() >= last_call + quiet_;
      for (auto &[id, operation] : quiet ? pending_ : waiting_functions_)
        wanted.push_back(operation);
      if (quiet) busy_after(wanted, UINT64_MAX);
      demand(wanted);
    }
  }
}

}  // namespace simcuda
