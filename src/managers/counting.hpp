// SPDX-License-Identifier: BSD-3-Clause
// Counts a manager's allocated memory, for several threads at a time, without a lock.
#pragma once

#include <atomic>

#include "cai/memory.h"

namespace cai::managers {

class Counts {
 public:
  void gave(uint64_t bytes) noexcept {
    bytes_.add(bytes);
    count_.add(1);
  }
  void took_back(uint64_t bytes) noexcept {
    bytes_.now.fetch_sub(bytes, std::memory_order_relaxed);
    count_.now.fetch_sub(1, std::memory_order_relaxed);
  }
  void failed() noexcept { failures_.fetch_add(1, std::memory_order_relaxed); }

  cai_statistics read() const noexcept {
    return {sizeof(cai_statistics),
            0,
            bytes_.now,
            bytes_.peak,
            bytes_.total,
            count_.now,
            count_.peak,
            count_.total,
            failures_};
  }

 private:
  struct Sum {
    std::atomic<uint64_t> now{0}, peak{0}, total{0};

    void add(uint64_t more) noexcept {
      const uint64_t sum = now.fetch_add(more, std::memory_order_relaxed) + more;
      total.fetch_add(more, std::memory_order_relaxed);
      uint64_t most = peak.load(std::memory_order_relaxed);
      while (most < sum && !peak.compare_exchange_weak(most, sum, std::memory_order_relaxed)) {
      }
    }
  };
  Sum bytes_, count_;
  std::atomic<uint64_t> failures_{0};
};

// Counts what `allocate` returns, and its failures.
template <class Allocate>
cai_block counted(Counts &counts, Allocate &&allocate) {
  try {
    const cai_block block = allocate();
    counts.gave(block.size);
    return block;
  } catch (...) {
    counts.failed();
    throw;
  }
}

}  // namespace cai::managers
