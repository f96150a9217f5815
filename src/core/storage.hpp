// SPDX-License-Identifier: BSD-3-Clause
// Divides the caller's storage, in steps of 8 bytes.
#pragma once

#include <cstdint>

#include "core/checked.hpp"

namespace cai {

class Storage {
 public:
  Storage(void *memory, uint64_t size) noexcept : at_(static_cast<char *>(memory)), left_(size) {}

  // Returns `count` uninitialised objects, or NULL if the storage is too small.
  template <class T>
  T *take(uint64_t count) noexcept {
    static_assert(alignof(T) <= 8);
    uint64_t bytes;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes) || bytes > left_) return nullptr;
    bytes = round_up8(bytes);
    if (bytes > left_) return nullptr;
    char *const piece = at_;
    at_ += bytes;
    left_ -= bytes;
    return reinterpret_cast<T *>(piece);
  }

 private:
  char *at_;
  uint64_t left_;
};

}  // namespace cai
