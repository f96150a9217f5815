// SPDX-License-Identifier: BSD-3-Clause
// What the hook of cai_on_failure() has received.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cai.h"

namespace test {

// Collects the failures of cai_on_failure() while it exists.
struct Failures {
  std::vector<std::string> messages;

  Failures() {
    const auto hear = [](void *context, const cai_error *error) {
      static_cast<Failures *>(context)->messages.emplace_back(error->message);
    };
    EXPECT_EQ(cai_on_failure(hear, this, nullptr), CAI_OK);
  }
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;
  ~Failures() { EXPECT_EQ(cai_on_failure(nullptr, nullptr, nullptr), CAI_OK); }
};

}  // namespace test
