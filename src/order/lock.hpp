// SPDX-License-Identifier: BSD-3-Clause
// A lock for a few instructions, and cheaper than a mutex where nobody else wants it.
#pragma once

#include <atomic>

namespace cai::order {

class Lock {
 public:
  void lock() noexcept {
    while (held_.test_and_set(std::memory_order_acquire)) held_.wait(true);
  }
  void unlock() noexcept {
    held_.clear(std::memory_order_release);
    held_.notify_one();
  }

 private:
  std::atomic_flag held_;
};

}  // namespace cai::order
