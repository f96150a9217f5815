// SPDX-License-Identifier: BSD-3-Clause
#include "device/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace cai::device {
namespace {

constinit std::atomic<std::uint64_t> count{0};
constinit std::atomic<bool> watching{false};

}  // namespace

std::uint64_t forks() noexcept {
  if (!watching.load(std::memory_order_relaxed) && !watching.exchange(true)) {
    pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
  }
  return count.load(std::memory_order_relaxed);
}

}  // namespace cai::device
