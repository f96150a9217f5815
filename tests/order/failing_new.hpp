// SPDX-License-Identifier: BSD-3-Clause
// Lets one of libcai's own allocations fail, or is told of them.
#pragma once

#include <functional>

namespace test {

// Runs `body`, in which the nth allocation of libcai's code, counted from 0, finds no memory.
// Returns how many there were.
long with_failing_new(long nth, const std::function<void()> &body);

// Runs `body`, in which `told` is called at each allocation of libcai's code.
void with_told_new(const std::function<void()> &told, const std::function<void()> &body);

}  // namespace test
