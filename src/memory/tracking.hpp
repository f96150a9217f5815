// SPDX-License-Identifier: BSD-3-Clause
// The manager "tracking": what it has counted.
#pragma once

#include "memory/counting.hpp"

namespace cai::memory {

const Counts &counts_of_tracking(const void *self) noexcept;

}  // namespace cai::memory
