// SPDX-License-Identifier: BSD-3-Clause
// Walks all elements of one array, or of two of the same shape, in as few and as long pieces as the
// strides allow.
#pragma once

#include <cstdint>

#include "cai.h"

namespace cai::transfer {

// One loop: `extent` steps, with a stride in bytes for either side.
struct Axis {
  int64_t extent;
  int64_t to;
  int64_t from;
};

// Pieces of `run` bytes, in nested loops, the outermost first. Strides of `to` are above 0; those
// of `from` may be any.
struct Walk {
  uint64_t to;
  uint64_t from;
  int64_t run;
  int32_t count = 0;
  Axis axes[CAI_MAX_NDIM];

  void remove(int32_t axis) noexcept {
    for (--count; axis < count; ++axis) axes[axis] = axes[axis + 1];
  }
};

// For valid arrays of the same shape and item size that have elements; those of `to` must not
// overlap. For one array, pass it twice.
Walk walk_over(const cai_array &to, const cai_array &from) noexcept;

// The same with host addresses.
Walk walk_on_host(const cai_array &to, const cai_array &from);

// Calls `body(to, from)` at the beginning of each piece.
template <class Body>
void for_each_piece(const Walk &walk, Body &&body) {
  int64_t at[CAI_MAX_NDIM] = {};
  uint64_t to = walk.to, from = walk.from;
  while (true) {
    body(to, from);
    int32_t axis = walk.count - 1;
    for (; axis >= 0; --axis) {
      // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): a valid array has no more
      const Axis &loop = walk.axes[axis];
      to += static_cast<uint64_t>(loop.to);
      from += static_cast<uint64_t>(loop.from);
      if (++at[axis] < loop.extent) break;
      at[axis] = 0;
      to -= static_cast<uint64_t>(loop.to * loop.extent);
      from -= static_cast<uint64_t>(loop.from * loop.extent);
    }
    if (axis < 0) return;
  }
}

}  // namespace cai::transfer
