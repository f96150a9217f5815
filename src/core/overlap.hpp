// SPDX-License-Identifier: BSD-3-Clause
// Whether elements share bytes.
#pragma once

#include "cai.h"

namespace cai {

// Whether two elements of an array share a byte; whether an element of one array does with one of
// another, by their addresses. For valid arrays. Exact, but for strides of such a kind that to find
// out would take too long: those count as overlapping.
bool overlaps_itself(const cai_array &array) noexcept;
bool overlap(const cai_array &a, const cai_array &b) noexcept;

}  // namespace cai
