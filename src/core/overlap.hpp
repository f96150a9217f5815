// SPDX-License-Identifier: BSD-3-Clause
// Whether elements share bytes.
#pragma once

#include "cai.h"

namespace cai {

// Whether two elements of an array share a byte, and whether an element of one array shares a byte
// with one of another array, by their addresses. The arrays must be valid. The answer is exact,
// unless the strides would make the search too long: then the elements count as overlapping.
bool overlaps_itself(const cai_array &array) noexcept;
bool overlap(const cai_array &a, const cai_array &b) noexcept;

}  // namespace cai
