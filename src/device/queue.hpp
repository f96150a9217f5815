// SPDX-License-Identifier: BSD-3-Clause
// A thread that does work in order: the implementation of an asynchronous CPU stream. It lives
// until its work is done, which may be longer than the stream.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "core/fork.hpp"
#include "device/failures.hpp"
#include "order/host_uses.hpp"

namespace cai::device {

struct Task {
  cai_work_fn work;             // may be null
  void (*done)(void *context);  // called after the work, or instead of it; may be null
  void *context;
  bool is_wait = false;  // which later work relies on, so that it is not dropped
  Task *next = nullptr;
  std::uint64_t number = 0;
  Task *later = nullptr;  // the next one of the queue that has not finished
};

class Queue final : public order::HostQueue {
 public:
  // Throws CAI_ERR_UNSUPPORTED if no thread can be started.
  static std::shared_ptr<Queue> start();

  Queue() = default;
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  // Whether its thread is of this process, and not of one that this was forked from.
  bool is_alive() const noexcept { return process_ == forks(); }
  // Throws CAI_ERR_STATE if it is not.
  void require_alive() const;

  // Returns the task's number. Throws the failure that no call has returned; the context is the
  // caller's then.
  std::uint64_t push(std::unique_ptr<Task> task);
  // The same for what does not depend on earlier work.
  std::uint64_t push_always(std::unique_ptr<Task> task) noexcept;
  std::uint64_t pushed() const noexcept { return pushed_.load(std::memory_order_acquire); }
  bool is_over(std::uint64_t number) const noexcept override;
  void wait_for(std::uint64_t number) override;
  bool is_busy() const noexcept;
  // Waits for all work pushed so far. Throws CAI_ERR_STATE on the queue's own thread.
  void wait();
  bool is_here() const noexcept;  // whether the caller is on its thread
  static bool is_any_here() noexcept;

  // No more work will come: the thread ends once it has done its work.
  void close() noexcept;

  Failures failures;

 private:
  bool has_done(std::uint64_t number) const noexcept {
    return finished_.load(std::memory_order_acquire) >= number;
  }
  std::uint64_t add(std::unique_ptr<Task> task, std::unique_lock<std::mutex> lock) noexcept;
  void wait_until_done(std::uint64_t number) const;
  // The last task before a number that has not finished, or 0.
  std::uint64_t last_before(std::uint64_t number) noexcept;
  void work() noexcept;
  Task *take();
  void finish(Task *task) noexcept;
  Task *note(const cai_error &error, Task *rest) noexcept;

  std::mutex mutex_;  // guards the list
  std::condition_variable arrived_;
  Task *first_ = nullptr;
  Task *last_ = nullptr;
  Task *oldest_ = nullptr;  // of those that have not finished
  Task *newest_ = nullptr;
  bool sleeping_ = false;
  bool closed_ = false;
  std::atomic<std::uint64_t> pushed_{0};    // the number of the last task
  std::atomic<std::uint64_t> finished_{0};  // that of the last one that has finished
  const std::uint64_t process_ = forks();
};

// A point in the work of a CPU stream, passed once.
class Mark {
 public:
  explicit Mark(const Queue *by) noexcept : by_(by) {}

  void pass() noexcept;
  bool is_passed() const noexcept { return passed_.load(std::memory_order_acquire) != 0; }
  // Throws CAI_ERR_STATE in a process without the thread that must pass it.
  bool is_pending() const;
  // Likewise, and on that thread.
  void wait() const;
  std::chrono::steady_clock::time_point time() const noexcept {
    return time_.load();
  }  // once passed
  const Queue *by() const noexcept { return by_; }

 private:
  const Queue *const by_;  // only compared
  std::atomic<std::chrono::steady_clock::time_point> time_{};
  std::atomic<int> passed_{0};
  const std::uint64_t process_ = forks();
};

}  // namespace cai::device
