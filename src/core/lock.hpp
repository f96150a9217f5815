// SPDX-License-Identifier: BSD-3-Clause
// A lock for a few instructions, cheaper than a mutex if there is no contention.
#pragma once

#include <atomic>

namespace cai {

class Lock {
 public:
  void lock() noexcept {
    if (state_.exchange(held, std::memory_order_acquire) != open) wait();
  }
  bool try_lock() noexcept {
    int was = open;
    return state_.compare_exchange_strong(was, held, std::memory_order_acquire);
  }
  bool is_held() const noexcept { return state_.load(std::memory_order_relaxed) != open; }
  void unlock() noexcept {
    if (state_.exchange(open, std::memory_order_release) == awaited) state_.notify_one();
  }

 private:
  // From here on a thread may sleep. The state must say so until no thread can.
  [[gnu::noinline, gnu::cold]] void wait() noexcept {
    while (state_.exchange(awaited, std::memory_order_acquire) != open) state_.wait(awaited);
  }

  enum : int { open, held, awaited };
  std::atomic<int> state_{open};
};

}  // namespace cai
