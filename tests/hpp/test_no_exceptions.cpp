// SPDX-License-Identifier: BSD-3-Clause
// cai.hpp compiled without exceptions: the way that returns a status; and what fails otherwise.
#include <gtest/gtest.h>

#include <cai/cai.hpp>

namespace {

// On the host, which needs no order and no driver.
cai_array on_host() {
  cai_array array{};
  array.abi_major = CAI_ABI_MAJOR;
  array.data = 0x7F0000001000;
  array.device_type = CAI_DEVICE_CPU;
  array.dtype = {'f', '<', 0, 0, 4, 0};
  array.stream_kind = CAI_STREAM_NONE;
  array.version = 3;
  return array;
}

TEST(NoExceptions, Statuses) {
  int calls = 0;
  {
    const cai::array array = cai::array::own(on_host(), [&] { ++calls; });
    const cai_array *const arrays[] = {array.get()};
    cai::use guard;
    cai_error error;
    const cai::options reading{.access = CAI_ACCESS_READ};
    ASSERT_EQ(guard.try_begin(arrays, 3, reading, &error), CAI_OK) << error.message;
    EXPECT_TRUE(guard);
    EXPECT_EQ(guard.try_begin(arrays, 3, reading, &error), CAI_ERR_ARGUMENT);
    cai::use refused;
    EXPECT_EQ(refused.try_begin(arrays, 0, reading, &error), CAI_ERR_ARGUMENT);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.try_end(&error), CAI_OK);
    guard = cai::use();
    EXPECT_FALSE(guard);
  }
  EXPECT_EQ(calls, 1);
}

TEST(NoExceptionsDeathTest, WhatWouldThrowAborts) {
  cai_array array = on_host();
  array.version = 9;
  EXPECT_DEATH(static_cast<void>(cai::array::own(array, [] {})), "CAI_ERR_VALUE");
}

}  // namespace
