// SPDX-License-Identifier: BSD-3-Clause
// The headers compiled without exceptions: the way that returns a status; and what fails otherwise.
#include <gtest/gtest.h>

#include <cai/memory.hpp>

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

TEST(NoExceptions, GuardsAndStreams) {
  const cai::device device;
  const cai::stream before = cai::stream::current(device), stream(device);
  cai_error error;
  {
    cai::device_guard entered;
    ASSERT_EQ(entered.try_enter(device, &error), CAI_OK) << error.message;
    cai::stream_guard guard;
    ASSERT_EQ(guard.try_enter(stream, 0, &error), CAI_OK) << error.message;
    EXPECT_EQ(guard.try_enter(stream, 0, &error), CAI_ERR_STATE);
    EXPECT_EQ(cai::stream::current(device), stream);
    const auto alive = std::make_shared<int>();
    stream.attach(alive);
    stream.enqueue([alive](cai_error *why) -> cai_status {
      *why = {CAI_ERR_LAYOUT, 0, CAI_ENTRY_NONE, -1, "it has failed"};
      return CAI_ERR_LAYOUT;
    });
    EXPECT_EQ(guard.try_leave(&error), CAI_ERR_LAYOUT);
    EXPECT_STREQ(error.message, "it has failed");
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(entered.try_leave(&error), CAI_OK);
  }
  EXPECT_EQ(cai::stream::current(device), before);
}

// A manager that refuses more than 1000 bytes; the rest is the heap's.
struct Small {
  static constexpr const char *name = "test-small";
  Small(cai::device, cai::manager upstream) : upstream_(std::move(upstream)) {}
  cai_status memalloc(std::uint64_t size, std::uint64_t align, std::uint32_t kind,
                      std::uint64_t stream, cai_block *out, cai_error *error) {
    if (size > 1000) {
      *error = {CAI_ERR_MEMORY, 0, CAI_ENTRY_NONE, -1, "too much"};
      return CAI_ERR_MEMORY;
    }
    return cai_manager_alloc(upstream_.get(), size, align, kind, stream, out, error);
  }
  cai_status memfree(const cai_block &block, std::uint64_t stream, cai_error *error) {
    return cai_manager_free(upstream_.get(), &block, CAI_KIND_DEFAULT, stream, error);
  }

 private:
  cai::manager upstream_;
};

TEST(NoExceptions, Memory) {
  cai::register_manager<Small>();
  const cai::device device;
  const cai::manager small("test-small", device, cai::manager::of(device));
  const cai::array x = cai::zeros<int>({4}, device, {.manager = small});
  cai::fill(x, 3);
  EXPECT_EQ(cai::item<int>(x, {-1}), 3);
  cai_block block{};
  cai_error error;
  EXPECT_EQ(cai_manager_alloc(small.get(), 1001, 0, CAI_KIND_DEFAULT, 0, &block, &error),
            CAI_ERR_MEMORY);
  EXPECT_NE(std::string(error.message).find("too much"), std::string::npos) << error.message;
}

TEST(NoExceptionsDeathTest, WhatWouldThrowAborts) {
  EXPECT_DEATH(static_cast<void>(cai::device::parse("tpu")), "CAI_ERR_VALUE");
  cai_array array = on_host();
  array.stream_kind = 9;
  EXPECT_DEATH(static_cast<void>(cai::array::own(array, [] {})), "CAI_ERR_VALUE");
}

}  // namespace
