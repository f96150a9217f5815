// SPDX-License-Identifier: BSD-3-Clause
// Lets one of libcai's own allocations fail.
#pragma once

#include <functional>

namespace test {

// Runs `body`, in which the nth allocation of libcai's code, counted from 0, finds no memory.
// Returns how many there were.
long with_failing_new(long nth, const std::function<void()> &body);

}  // namespace test
