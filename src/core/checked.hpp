// SPDX-License-Identifier: BSD-3-Clause
// Overflow-checked arithmetic: the sizes come from untrusted input.
#pragma once

#include <cstdint>

namespace cai {

// Each returns false, and leaves `into` unspecified, if the result does not fit in 63 bits and a
// sign.
[[nodiscard]] inline bool multiply(int64_t a, int64_t b, int64_t *into) noexcept {
  return !__builtin_mul_overflow(a, b, into);
}

[[nodiscard]] inline bool add(int64_t a, int64_t b, int64_t *into) noexcept {
  return !__builtin_add_overflow(a, b, into);
}

constexpr uint64_t round_up8(uint64_t bytes) noexcept {
  return (bytes + 7) & ~uint64_t{7};
}

}  // namespace cai
