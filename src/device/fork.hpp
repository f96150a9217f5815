// SPDX-License-Identifier: BSD-3-Clause
// Whether this is still the process in which something was made: a child has neither the threads
// nor the GPUs of its parent.
#pragma once

#include <cstdint>

namespace cai::device {

// Counts the forks that led here, from the first call on.
std::uint64_t forks() noexcept;

}  // namespace cai::device
