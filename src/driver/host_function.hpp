// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace cai::driver {

// While one exists, its thread is the driver's, in a function that a stream runs: no function of
// the driver may be called. What ends there all the same, such as an object that a garbage
// collection finds, is kept until a later call.
class InHostFunction {
 public:
  InHostFunction() noexcept {
    ++depth;
    all.fetch_add(1, std::memory_order_relaxed);
  }
  InHostFunction(const InHostFunction &) = delete;
  InHostFunction &operator=(const InHostFunction &) = delete;
  ~InHostFunction() {
    all.fetch_sub(1, std::memory_order_relaxed);
    --depth;
  }
  static bool is_here() noexcept { return all.load(std::memory_order_relaxed) && depth; }

 private:
  // Of all threads: while it is 0, no thread looks for its own, which takes longer.
  constinit static inline std::atomic<int> all{0};
  constinit static inline thread_local int depth = 0;
};

}  // namespace cai::driver
