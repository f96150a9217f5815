// SPDX-License-Identifier: BSD-3-Clause
// Calls of cai.h that must succeed, or fail; and the devices that simcuda has.
#pragma once

#include <cai.h>
#include <gtest/gtest.h>

#include <string_view>

// Stops the test at a call that does not succeed, with what it says into `error`.
#define ASSERT_OK(call)                                           \
  do {                                                            \
    cai_error error_{};                                           \
    [[maybe_unused]] cai_error *const error = &error_;            \
    ASSERT_EQ((call), CAI_OK) << #call << ": " << error_.message; \
  } while (0)

// A call that fails with a status, and says something of why.
#define EXPECT_FAILS(expected, text, call)                                         \
  do {                                                                             \
    cai_error error_{};                                                            \
    cai_error *const error = &error_;                                              \
    EXPECT_EQ((call), expected) << #call << ": " << error_.message;                \
    EXPECT_EQ(error_.status, expected);                                            \
    EXPECT_NE(std::string_view(error_.message).find(text), std::string_view::npos) \
        << error_.message;                                                         \
  } while (0)

namespace test {

constexpr cai_device cpu{CAI_DEVICE_CPU, 0};
constexpr cai_device gpu0{CAI_DEVICE_CUDA, 0};
constexpr cai_device gpu1{CAI_DEVICE_CUDA, 1};

}  // namespace test
