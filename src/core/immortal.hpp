// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>

#include "core/global_lock.hpp"

namespace cai {

// What immortal() returns; it is made out of line, since most calls find it there.
template <class T>
class Immortal {
 public:
  static T &get() {
    T *const there = made_.load(std::memory_order_acquire);
    return there ? *there : make();
  }

 private:
  [[gnu::noinline, gnu::cold]] static T &make() {
    const std::lock_guard lock(making_immortals);
    T *there = made_.load(std::memory_order_relaxed);
    if (!there) made_.store(there = ::new (storage_) T, std::memory_order_release);
    return *there;
  }

  alignas(T) static inline std::byte storage_[sizeof(T)];
  // Not a static object's own guard: a child may be forked while another thread holds that.
  static inline constinit std::atomic<T *> made_{nullptr};
};

// The only object of a type. It is made at the first use, without the heap, so that this cannot
// fail. It is never destroyed: other threads may use it until the process ends. Its constructor
// must not use another one.
template <class T>
T &immortal() {
  return Immortal<T>::get();
}

}  // namespace cai
