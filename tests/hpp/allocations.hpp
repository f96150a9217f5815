// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace test {

// Of this program so far; the library's own go another way.
extern std::uint64_t allocations;

}  // namespace test
