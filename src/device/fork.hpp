// SPDX-License-Identifier: BSD-3-Clause
// Whether this is still the process in which an object was made: a forked child has neither the
// threads nor the GPUs of its parent.
#pragma once

#include <cstdint>

namespace cai::device {

// Counts the forks between the first call and this process.
std::uint64_t forks() noexcept;

}  // namespace cai::device
