// SPDX-License-Identifier: BSD-3-Clause
#include "device/queue.hpp"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/must_not_await.hpp"
#include "core/report.hpp"

namespace cai::device {
namespace {

constinit thread_local const Queue *here = nullptr;
constinit thread_local std::uint64_t running = 0;  // the number of its task
constinit std::atomic<std::uint64_t> numbers{0};

[[noreturn]] void fail_in_child() {
  throw Failure(CAI_ERR_STATE, {},
                "the stream's thread is in the process that this one was forked from");
}

// Signals are for the program's own threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals &) = delete;
  NoSignals &operator=(const NoSignals &) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

std::shared_ptr<Queue> Queue::start() {
  auto queue = std::make_shared<Queue>();
  try {
    const NoSignals during_creation;
    std::thread([queue] { queue->work(); }).detach();
  } catch (const std::system_error &error) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "no thread for the stream: %s", error.what());
  }
  return queue;
}

void Queue::require_alive() const {
  if (!is_alive()) fail_in_child();
}

// With one lock, so that no work comes between a failure, which drops what is there, and the call
// that returns it.
std::uint64_t Queue::push(std::unique_ptr<Task> task) {
  std::unique_lock lock(mutex_);
  failures.raise();
  return add(std::move(task), std::move(lock));
}

std::uint64_t Queue::push_always(std::unique_ptr<Task> task) noexcept {
  return add(std::move(task), std::unique_lock(mutex_));
}

std::uint64_t Queue::add(std::unique_ptr<Task> task, std::unique_lock<std::mutex> lock) noexcept {
  Task *const last = task.release();
  const std::uint64_t number = numbers.fetch_add(1, std::memory_order_acq_rel) + 1;
  last->number = number;
  (last_ ? last_->next : first_) = last;
  last_ = last;
  (newest_ ? newest_->later : oldest_) = last;
  newest_ = last;
  pushed_.store(number, std::memory_order_release);
  const bool wake = std::exchange(sleeping_, false);
  lock.unlock();
  if (wake) arrived_.notify_one();
  return number;
}

bool Queue::is_over(std::uint64_t number) const noexcept {
  return has_done(number) && !failures.any(number);
}

void Queue::wait_for(std::uint64_t number) {
  if (is_here()) return;
  std::uint64_t awaited = number;
  // What was queued after the work of this thread comes after it, and may be waiting for it.
  if (here && number > running) {
    number = running;
    awaited = last_before(running);
  }
  wait_until_done(awaited);
  // The thread of the parent was noting one at the fork.
  if (!is_alive() && failures.is_being_changed()) fail_in_child();
  failures.raise(number);
}

std::uint64_t Queue::last_before(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  std::uint64_t last = 0;
  for (const Task *task = oldest_; task && task->number < number; task = task->later) {
    last = task->number;
  }
  return last;
}

void Queue::wait_until_done(std::uint64_t number) const {
  if (has_done(number)) return;
  require_alive();
  std::uint64_t now = 0;
  while ((now = finished_.load(std::memory_order_acquire)) < number) finished_.wait(now);
}

bool Queue::is_busy() const noexcept {
  // In this order: work that is pushed between the two reads must not look complete.
  const std::uint64_t finished = finished_.load(std::memory_order_acquire);
  return finished != pushed_.load(std::memory_order_acquire);
}

bool Queue::is_any_here() noexcept {
  return here;
}

bool Queue::is_here() const noexcept {
  return here == this;
}

void Queue::wait() {
  if (is_here()) {
    throw Failure(CAI_ERR_STATE, {},
                  "the stream cannot wait for itself: this is the thread that does its work");
  }
  wait_until_done(pushed());
}

void Queue::close() noexcept {
  std::optional<cai_error> untold;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    untold = failures.take();
    sleeping_ = false;
  }
  arrived_.notify_one();
  if (untold) report(*untold);
}

// Waits for work, and takes all of it; null once the queue is closed and empty.
Task *Queue::take() {
  std::unique_lock lock(mutex_);
  while (!first_ && !closed_) {
    sleeping_ = true;
    arrived_.wait(lock);
  }
  last_ = nullptr;
  return std::exchange(first_, nullptr);
}

void Queue::finish(Task *task) noexcept {
  if (task->done) task->done(task->context);
  {
    const std::lock_guard lock(mutex_);
    oldest_ = task->later;
    if (!oldest_) newest_ = nullptr;
    finished_.store(task->number, std::memory_order_release);
  }
  delete task;
  finished_.notify_all();
}

// Work has failed: takes the waiting work, too, to be dropped after `rest`.
Task *Queue::note(const cai_error &error, Task *rest) noexcept {
  bool told = false;
  {
    const std::lock_guard lock(mutex_);
    Task **end = &rest;
    while (*end) end = &(*end)->next;
    *end = std::exchange(first_, nullptr);
    last_ = nullptr;
    told = closed_ || !failures.note(error, running);
  }
  if (told) report(error);
  return rest;
}

void Queue::work() noexcept {
  here = this;
  const MustNotAwait must_not_await;  // an end may wait for the work
  while (Task *rest = take()) {
    bool drops = false;
    while (Task *const task = rest) {
      rest = task->next;
      running = task->number;
      std::optional<cai_error> failure;
      if (!drops || task->is_wait) failure = run(task->work, task->context);
      if (failure) {
        rest = note(*failure, rest);
        drops = true;
      }
      finish(task);
    }
  }
}

void Mark::pass() noexcept {
  time_ = std::chrono::steady_clock::now();
  passed_.store(1, std::memory_order_release);
  passed_.notify_all();
}

bool Mark::is_pending() const {
  if (is_passed()) return false;
  if (process_ != forks()) fail_in_child();
  return true;
}

void Mark::wait() const {
  if (!is_pending()) return;
  if (by_ && by_->is_here()) {
    throw Failure(CAI_ERR_STATE, {},
                  "the event cannot be waited for here: this is the thread that must complete it");
  }
  passed_.wait(0, std::memory_order_acquire);
}

}  // namespace cai::device
