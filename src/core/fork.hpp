// SPDX-License-Identifier: BSD-3-Clause
// Whether this is still the process in which an object was made: a forked child has neither the
// threads nor the GPUs of its parent.
#pragma once

#include <atomic>
#include <cstdint>

namespace cai {

extern constinit std::atomic<std::uint64_t> fork_count;

// Counts the forks between the load of libcai and this process.
inline std::uint64_t forks() noexcept {
  return fork_count.load(std::memory_order_relaxed);
}

}  // namespace cai
