// SPDX-License-Identifier: BSD-3-Clause
// Arrays that are released while their uses are pending, for tests that count what is left.
#pragma once

#include "owned.hpp"

namespace test {

class Releasing : public OnGpu {
 protected:
  const std::int64_t left_before_ = left_after_drain();

  std::int64_t left(std::int32_t wait = 0) const { return left_after_drain(wait) - left_before_; }
};

}  // namespace test
