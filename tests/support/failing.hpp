// SPDX-License-Identifier: BSD-3-Clause
// Lets libcai's own allocations fail, one at a time, or is told of them.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "allocations.h"
#include "cai.h"

namespace test {

// Runs `body`, in which the nth allocation of libcai's code, counted from 0, finds no memory.
// Returns how many there were.
inline long with_failing_new(long nth, const std::function<void()> &body) {
  allocations_reset();
  allocations_fail(nth);
  body();
  allocations_fail(-1);
  return allocations_now().of_libcai;
}

// Runs `body`; each allocation of libcai's code calls `told`.
inline void with_told_new(std::function<void()> told, const std::function<void()> &body) {
  allocations_reset();
  allocations_tell([](void *each) { (*static_cast<std::function<void()> *>(each))(); }, &told);
  body();
  allocations_tell(nullptr, nullptr);
}

// Calls until no allocation is left to fail, which is when it succeeds; `check` follows each
// failure.
inline void with_each_failing(const std::function<cai_status()> &call,
                              const std::function<void()> &check) {
  for (long nth = 0;; ++nth) {
    cai_status status = CAI_OK;
    const long made = with_failing_new(nth, [&] { status = call(); });
    ASSERT_EQ(status, made <= nth ? CAI_OK : CAI_ERR_MEMORY);
    if (status == CAI_OK) return;
    check();
  }
}

}  // namespace test
