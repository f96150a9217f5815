// SPDX-License-Identifier: BSD-3-Clause
// Every allocation of a call fails in turn.
#pragma once

#include <gtest/gtest.h>

#include "cai.h"
#include "failing_new.hpp"

namespace test {

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
