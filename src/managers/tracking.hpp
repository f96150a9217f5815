// SPDX-License-Identifier: BSD-3-Clause
// The counts of the manager "tracking".
#pragma once

#include "managers/counting.hpp"

namespace cai::managers {

const Counts &counts_of_tracking(const void *self) noexcept;

}  // namespace cai::managers
