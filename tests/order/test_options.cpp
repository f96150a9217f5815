// SPDX-License-Identifier: BSD-3-Clause
// The options of a call, and the environment, which is read once: so this runs once for each of its
// settings.
#include <string_view>

#include "owned.hpp"

namespace test::options_tests {
namespace {

std::string_view setting(const char *name) {
  const char *const value = std::getenv(name);
  return value ? value : "";
}

class Options : public OnGpu {
 protected:
  void hand_over(Array &array, std::uint64_t producer, std::uint64_t consumer,
                 const cai_use_options *options, std::uint64_t races_expected) {
    const Address to = memory();
    EXPECT_EQ(races([&] {
                fill(array.array.data, 1, producer);
                cai_error error{};
                EXPECT_EQ(begin_use({&array}, consumer, &error, options), CAI_OK) << error.message;
                copy(to, array.array.data, consumer);
                EXPECT_EQ(end_use({&array}, consumer, &error, options), CAI_OK) << error.message;
                fill(array.array.data, 2, producer);
              }),
              races_expected);
  }
};

// CAI_SYNC=0 takes all order away, but what the host waits for.
TEST_F(Options, Order) {
  const bool sync = setting("CAI_SYNC") != "0";
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  struct Case {
    std::uint32_t order;
    std::uint64_t races;
  };
  for (const Case &one : {Case{CAI_ORDER_BOTH, 0},
                          {CAI_ORDER_BEGIN, 1},
                          {CAI_ORDER_END, 1},
                          {CAI_ORDER_NONE, 2},
                          {CAI_ORDER_HOST, 0}}) {
    SCOPED_TRACE(one.order);
    const cai_use_options options = order(one.order);
    hand_over(array, producer, consumer, &options,
              sync || one.order == CAI_ORDER_HOST ? one.races : 2);
  }
  hand_over(array, producer, consumer, nullptr, sync ? 0 : 2);
}

// CAI_NONE=legacy does not believe that no order is needed.
TEST_F(Options, None) {
  const bool distrust = setting("CAI_NONE") == "legacy";
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_NONE);
  const bool sync = setting("CAI_SYNC") != "0";
  hand_over(array, 1, consumer, nullptr, distrust && sync ? 0 : 2);
  const cai_array *const one = &array.array;
  std::uint64_t out = 99;
  EXPECT_EQ(cai_arrays_same_stream(&one, 1, &out, nullptr), CAI_OK);
  EXPECT_EQ(out, distrust ? 1U : 0U);
}

// Every call that an invalid value concerns rejects it, and names it.
TEST_F(Options, Bad) {
  Array array(memory(), CAI_STREAM_NONE);
  const std::uint64_t consumer = value(stream());
  for (int twice = 0; twice < 2; ++twice) {
    for (const auto use : {test::begin_arrays, test::end_arrays}) {
      const cai_array *const one = &array.array;
      cai_error error{};
      EXPECT_EQ(use(&one, 1, consumer, nullptr, &error), CAI_ERR_ARGUMENT);
      const char *const named = setting("CAI_SYNC") == "yes" ? "CAI_SYNC=yes"
                                : setting("CAI_NONE") == "2" ? "CAI_NONE=2"
                                                             : "CAI_TRACE=2";
      EXPECT_NE(std::string(error.message).find(named), std::string::npos) << error.message;
      EXPECT_EQ(error.index, -1);
    }
  }
}

// Every size that a caller of another age may have.
TEST_F(Options, Size) {
  const std::uint64_t producer = value(stream());
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, producer);
  Array marked(memory(), CAI_STREAM_STREAM, producer);
  marked.array.flags |= CAI_FLAG_READONLY;
  struct Larger {
    cai_use_options options;
    unsigned char tail[64];
  };
  // What is beyond the given size is not read.
  for (const std::uint32_t size : {8U, 12U, 16U, 23U, 24U, 25U, 88U}) {
    SCOPED_TRACE(size);
    Larger larger{{size, CAI_ORDER_NONE, CAI_ACCESS_WRITE, 0, nullptr}, {}};
    if (size < 88) larger.tail[sizeof larger.tail - 1] = 1;
    if (size < 16) larger.options.flags = 0xffffffffU;
    if (size < 24) std::memset(&larger.options.accesses, 1, sizeof larger.options.accesses);
    cai_error error{};
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, consumer, &error, &larger.options), CAI_OK) << error.message;
    EXPECT_EQ(all_calls(), 0U);
    larger.options.order = CAI_ORDER_BOTH;
    EXPECT_EQ(begin_use({&marked}, consumer, &error, &larger.options),
              size < 12 ? CAI_OK : CAI_ERR_VALUE);
    if (size > 24) {
      larger.tail[size - 25] = 1;
      EXPECT_EQ(begin_use({&array}, consumer, &error, &larger.options), CAI_ERR_ARGUMENT);
    }
  }
}

TEST_F(Options, Values) {
  const std::uint64_t consumer = value(stream());
  Array array(memory(), CAI_STREAM_STREAM, value(stream()));
  const auto refused = [&](std::uint32_t order, std::uint32_t access, std::uint32_t flags) {
    const cai_use_options options{sizeof options, order, access, flags, nullptr};
    cai_error error{};
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({&array}, consumer, &error, &options), CAI_ERR_ARGUMENT);
    EXPECT_EQ(error.index, -1);
    EXPECT_EQ(end_use({&array}, consumer, &error, &options), CAI_ERR_ARGUMENT);
    EXPECT_EQ(all_calls(), 0U);
    return std::string(error.message);
  };
  refused(CAI_ORDER_HOST + 1, 0, 0);
  refused(0, CAI_ACCESS_WRITE + 1, 0);
  EXPECT_NE(
      refused(0, 0, 1U << 2 | CAI_USE_FORK).find("0x6, of which this libcai does not know 0x4"),
      std::string::npos);
  refused(0, 0, 1U << 31);
  EXPECT_EQ(cai_array_reclaim(&array.array, consumer, CAI_ACCESS_WRITE + 1, nullptr),
            CAI_ERR_ARGUMENT);
}

// A write to what is marked read-only is refused before anything has happened.
TEST_F(Options, WriteOfAReadOnlyArray) {
  const std::uint64_t consumer = value(stream());
  Array plain(memory(), CAI_STREAM_STREAM, value(stream()));
  Array marked(memory(), CAI_STREAM_STREAM, value(stream()));
  marked.array.flags |= CAI_FLAG_READONLY;
  const cai_use_options writing = access(CAI_ACCESS_WRITE);
  cai_error error{};
  gpu().simcuda_reset_counts();
  EXPECT_EQ(begin_use({&plain, &marked}, consumer, &error, &writing), CAI_ERR_VALUE);
  EXPECT_EQ(error.index, 1);
  EXPECT_EQ(error.entry, CAI_ENTRY_DATA);
  EXPECT_EQ(end_use({&plain, &marked}, consumer, &error, &writing), CAI_ERR_VALUE);
  EXPECT_EQ(error.index, 1);
  EXPECT_EQ(all_calls(), 0U);
  for (const std::uint32_t how : {CAI_ACCESS_READ, CAI_ACCESS_DEFAULT}) {
    const cai_use_options options = access(how);
    EXPECT_EQ(begin_use({&plain, &marked}, consumer, &error, &options), CAI_OK);
    EXPECT_EQ(end_use({&plain, &marked}, consumer, &error, &options), CAI_OK);
  }
}

// By default a read-only array is read, and readers do not wait for each other.
TEST_F(Options, DefaultAccess) {
  for (const bool readonly : {false, true}) {
    Array array(memory(), CAI_STREAM_NONE);
    if (readonly) array.array.flags |= CAI_FLAG_READONLY;
    const Owned owned(array.array);
    EXPECT_EQ(begin_use({owned}, value(stream())), CAI_OK);
    EXPECT_EQ(end_use({owned}, value(stream())), CAI_OK);
    gpu().simcuda_reset_counts();
    EXPECT_EQ(begin_use({owned}, value(stream())), CAI_OK);
    EXPECT_EQ(calls("cuStreamWaitEvent"), readonly ? 0U : 1U);
  }
}

}  // namespace
}  // namespace test::options_tests
