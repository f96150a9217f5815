// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>

#include "core/global_lock.hpp"

namespace cai {

// The only object of a type. It is made at the first use, without the heap, so that this cannot
// fail. It is never destroyed: other threads may use it until the process ends. Its constructor
// must not use another one.
template <class T>
T &immortal() {
  alignas(T) static std::byte storage[sizeof(T)];
  // Not a static object's own guard: a child may be forked while another thread holds that.
  static constinit std::atomic<T *> made{nullptr};
  if (T *const there = made.load(std::memory_order_acquire)) return *there;
  const std::lock_guard lock(making_immortals);
  T *there = made.load(std::memory_order_relaxed);
  if (!there) made.store(there = ::new (storage) T, std::memory_order_release);
  return *there;
}

}  // namespace cai
