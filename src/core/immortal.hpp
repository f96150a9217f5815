// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <new>

namespace cai {

// The only object of a type. It is made at the first use, without the heap, so that this cannot
// fail. It is never destroyed: other threads may use it until the process ends.
template <class T>
T &immortal() {
  alignas(T) static std::byte storage[sizeof(T)];
  static T *const made = ::new (storage) T;
  return *made;
}

}  // namespace cai
