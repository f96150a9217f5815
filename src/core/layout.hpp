// SPDX-License-Identifier: BSD-3-Clause
// What follows from shape, strides and item size.
#pragma once

#include <cstdint>

#include "cai.h"

namespace cai {

// Which of them is at fault. `bits` is for kind 't', whose item size and strides count bits.
enum class LayoutFault { none, shape, strides };

// The strides of C order, in the unit of itemsize, as NumPy fills them: an extent of 0 counts as 1.
// `units` gets the whole, 0 if an extent is 0.
[[nodiscard]] LayoutFault fill_c_strides(int32_t ndim, const int64_t *shape, uint32_t itemsize,
                                         int64_t *strides, int64_t *units) noexcept;

// Extents must not be negative.
[[nodiscard]] LayoutFault compute_layout(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                         uint32_t itemsize, bool bits, cai_layout *out) noexcept;

// Whether [data + lo, data + hi) leaves the 64-bit address space.
bool extent_wraps(uint64_t data, int64_t lo, int64_t hi) noexcept;

// Whether `from` broadcasts to `to` by NumPy's rules.
bool broadcasts(const int64_t *from, int32_t from_ndim, const int64_t *to, int32_t to_ndim) noexcept;

}  // namespace cai
