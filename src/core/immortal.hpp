// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <new>

namespace cai {

// The one object of a type: made at the first need, where no memory of the heap can be short, and
// never destroyed, since any thread may come until the very end of the process.
template <class T>
T &immortal() {
  alignas(T) static std::byte storage[sizeof(T)];
  static T *const made = ::new (storage) T;
  return *made;
}

}  // namespace cai
