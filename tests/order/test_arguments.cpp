// SPDX-License-Identifier: BSD-3-Clause
// What needs no driver: arguments that are refused, and arrays that ask for no order. Run where
// there is no driver to be found, and none is missed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cai.h"
#include "uses.hpp"

namespace test::arguments_tests {
namespace {

constexpr std::uint64_t some_stream = 0x5500;

struct Array {
  std::int64_t shape[1] = {4};
  std::int64_t strides[1] = {1};
  cai_array array{};

  explicit Array(std::uint32_t kind = CAI_STREAM_NONE, std::uint64_t stream = 0) {
    array.abi_major = CAI_ABI_MAJOR;
    array.abi_minor = CAI_ABI_MINOR;
    array.data = 0x7000;
    array.device_type = CAI_DEVICE_CUDA;
    array.device_id = -1;
    array.dtype = {'u', '|', 0, 0, 1, 0};
    array.ndim = 1;
    array.shape = shape;
    array.strides = strides;
    array.stream = stream;
    array.stream_kind = kind;
    array.version = 3;
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
};

// The beginning of a use, and its end.
using Use = decltype(&test::begin_arrays);
const Use both[] = {test::begin_arrays, test::end_arrays};

bool driver_is_loaded() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

class Arguments : public testing::Test {
 protected:
  ~Arguments() override { EXPECT_FALSE(driver_is_loaded()); }

  void expect(cai_status expected, cai_status found, std::int32_t index = -1) {
    EXPECT_EQ(found, expected) << error.message;
    EXPECT_EQ(error.status, expected);
    EXPECT_EQ(error.index, index) << error.message;
    EXPECT_GT(std::strlen(error.message), 0U);
    error = {};
  }

  Array good;
  const cai_array *const one[1] = {&good.array};
  cai_error error{};
};

TEST_F(Arguments, CountAndPointers) {
  const cai_array *const with_null[] = {&good.array, &good.array, nullptr};
  for (const Use use : both) {
    expect(CAI_ERR_ARGUMENT, use(one, -1, some_stream, nullptr, &error));
    expect(CAI_ERR_ARGUMENT, use(nullptr, 1, some_stream, nullptr, &error));
    expect(CAI_ERR_ARGUMENT, use(with_null, 3, some_stream, nullptr, &error), 2);
    EXPECT_EQ(use(with_null, 2, some_stream, nullptr, &error), CAI_OK);
    EXPECT_EQ(use(nullptr, 0, some_stream, nullptr, nullptr), CAI_OK);
    EXPECT_EQ(use(nullptr, 1, some_stream, nullptr, nullptr), CAI_ERR_ARGUMENT);
  }
  std::uint64_t out = 7;
  expect(CAI_ERR_ARGUMENT, cai_arrays_same_stream(one, 1, nullptr, &error));
  expect(CAI_ERR_ARGUMENT, cai_arrays_same_stream(one, -1, &out, &error));
  expect(CAI_ERR_ARGUMENT, cai_arrays_same_stream(nullptr, 1, &out, &error));
  expect(CAI_ERR_ARGUMENT, cai_arrays_same_stream(with_null, 3, &out, &error), 2);
  expect(CAI_ERR_ARGUMENT, cai_array_sync_host(nullptr, &error));
  cai_location where{};
  where.struct_size = sizeof where;
  expect(CAI_ERR_ARGUMENT, cai_array_locate(nullptr, &where, &error));
  expect(CAI_ERR_ARGUMENT, cai_array_locate(&good.array, nullptr, &error));
  EXPECT_EQ(out, 7U);
  for (const std::uint32_t size : {0U, 4U, 7U}) {
    where.struct_size = size;
    expect(CAI_ERR_ARGUMENT, cai_array_locate(&good.array, &where, &error));
  }
}

TEST_F(Arguments, StreamZero) {
  for (const Use use : both) {
    expect(CAI_ERR_ARGUMENT, use(one, 1, 0, nullptr, &error));
    expect(CAI_ERR_ARGUMENT, use(nullptr, 0, 0, nullptr, &error));
  }
}

TEST_F(Arguments, Options) {
  struct Larger {
    cai_use_options options;
    std::uint32_t more[4];
  } larger{{sizeof(Larger), CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, 0, nullptr}, {}};
  for (const Use use : both) {
    for (const std::uint32_t order : {0U, 1U, 2U, 3U, 4U}) {
      const cai_use_options options{sizeof options, order, CAI_ACCESS_DEFAULT, 0, nullptr};
      EXPECT_EQ(use(one, 1, some_stream, &options, &error), CAI_OK);
    }
    for (const std::uint32_t order : {5U, 0xffffffffU}) {
      const cai_use_options options{sizeof options, order, CAI_ACCESS_DEFAULT, 0, nullptr};
      expect(CAI_ERR_ARGUMENT, use(one, 1, some_stream, &options, &error));
    }
    for (const std::uint32_t size : {0U, 4U, 7U, 0xffffffffU}) {
      const cai_use_options options{size, CAI_ORDER_BOTH, CAI_ACCESS_DEFAULT, 0, nullptr};
      EXPECT_EQ(use(one, 1, some_stream, &options, &error), CAI_ERR_ARGUMENT);
      EXPECT_NE(std::strstr(error.message, "8 to 4096"), nullptr) << error.message;
      expect(CAI_ERR_ARGUMENT, error.status);
    }
    larger.more[3] = 0;
    EXPECT_EQ(use(one, 1, some_stream, &larger.options, &error), CAI_OK);
    larger.more[3] = 1;
    expect(CAI_ERR_ARGUMENT, use(one, 1, some_stream, &larger.options, &error));
  }
}

// Functions with arrays validate them, and say which one was invalid.
TEST_F(Arguments, Arrays) {
  const auto refused = [&](cai_array &bad, cai_status status) {
    const cai_array *const list[] = {&good.array, &bad};
    for (const Use use : both) {
      for (const std::uint32_t order : {0U, 1U, 2U, 3U, 4U}) {
        const cai_use_options options{sizeof options, order, CAI_ACCESS_DEFAULT, 0, nullptr};
        expect(status, use(list, 2, some_stream, &options, &error), 1);
      }
    }
    std::uint64_t out = 0;
    expect(status, cai_arrays_same_stream(list, 2, &out, &error), 1);
    expect(status, cai_array_sync_host(&bad, &error));
    cai_location where{};
    where.struct_size = sizeof where;
    expect(status, cai_array_locate(&bad, &where, &error));
  };
  Array other_abi;
  other_abi.array.abi_major = 2;
  refused(other_abi.array, CAI_ERR_VERSION);
  Array unknown_flag;
  unknown_flag.array.flags = 1U << 30;
  refused(unknown_flag.array, CAI_ERR_VERSION);
  Array no_kind(0);
  refused(no_kind.array, CAI_ERR_VALUE);
  Array stream_zero(CAI_STREAM_STREAM, 0);
  refused(stream_zero.array, CAI_ERR_VALUE);
  Array rocm;
  rocm.array.device_type = CAI_DEVICE_ROCM;
  refused(rocm.array, CAI_ERR_DEVICE);
  Array rocm_stream(CAI_STREAM_STREAM, some_stream);
  rocm_stream.array.device_type = CAI_DEVICE_ROCM;
  refused(rocm_stream.array, CAI_ERR_DEVICE);
  Array mask;
  mask.array.device_type = CAI_DEVICE_ROCM;
  Array masked;
  masked.array.mask = &mask.array;
  masked.array.flags |= CAI_FLAG_MASKED;
  refused(masked.array, CAI_ERR_DEVICE);
  // One that libcai knows to be valid.
  cai_array *owned = nullptr;
  ASSERT_EQ(cai_array_own(&rocm_stream.array, nullptr, nullptr, &owned, nullptr), CAI_OK);
  refused(*owned, CAI_ERR_DEVICE);
  cai_array_release(owned);
}

// Of several arrays the error names the array; of one, the error in it, as validating does.
TEST_F(Arguments, IndexOfAnError) {
  Array bad;
  bad.shape[0] = -1;
  const cai_array *const list[] = {&good.array, &bad.array};
  EXPECT_EQ(test::begin_arrays(list, 2, some_stream, nullptr, &error), CAI_ERR_VALUE);
  EXPECT_EQ(error.index, 1);
  cai_error validated{};
  EXPECT_EQ(cai_array_validate(&bad.array, &validated), CAI_ERR_VALUE);
  EXPECT_EQ(validated.index, 0);
  EXPECT_EQ(cai_array_sync_host(&bad.array, &error), CAI_ERR_VALUE);
  EXPECT_EQ(std::memcmp(&error, &validated, sizeof error), 0);
  cai_location where{};
  where.struct_size = sizeof where;
  EXPECT_EQ(cai_array_locate(&bad.array, &where, &error), CAI_ERR_VALUE);
  EXPECT_EQ(std::memcmp(&error, &validated, sizeof error), 0);
}

TEST_F(Arguments, NoOrderNeedsNoDriver) {
  Array stated;
  Array same(CAI_STREAM_STREAM, some_stream);
  Array empty(CAI_STREAM_STREAM, 1);
  empty.shape[0] = 0;
  empty.array.data = 0;
  Array host;
  host.array.device_type = CAI_DEVICE_CPU;
  host.array.device_id = 0;
  const cai_array *const list[] = {&stated.array, &same.array, &empty.array, &host.array};
  for (const Use use : both) {
    EXPECT_EQ(use(list, 4, some_stream, nullptr, &error), CAI_OK) << error.message;
  }
  std::uint64_t out = 0;
  EXPECT_EQ(cai_arrays_same_stream(list, 4, &out, &error), CAI_OK) << error.message;
  EXPECT_EQ(out, some_stream);
  for (const cai_array *array : {&stated.array, &empty.array, &host.array}) {
    EXPECT_EQ(cai_array_sync_host(array, &error), CAI_OK) << error.message;
  }

  cai_location where{};
  where.struct_size = sizeof where;
  EXPECT_EQ(cai_array_locate(&host.array, &where, &error), CAI_OK) << error.message;
  EXPECT_EQ(where.flags, static_cast<unsigned>(CAI_LOCATION_HOST_ACCESSIBLE));
  EXPECT_EQ(where.device_type, CAI_DEVICE_CPU);
  EXPECT_EQ(where.device_pointer, host.array.data);
  EXPECT_EQ(where.base, 0U);
  empty.array.device_id = 3;
  EXPECT_EQ(cai_array_locate(&empty.array, &where, &error), CAI_OK) << error.message;
  const cai_location expected{sizeof expected, 0, CAI_DEVICE_CUDA, 3, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(&where, &expected, sizeof where), 0);

  // For the order itself the values tell: only events need none of their own to be refused.
  Array of_event(CAI_STREAM_EVENT, 0x77);
  const cai_array *const events[] = {&stated.array, &of_event.array};
  expect(CAI_ERR_ORDER, test::end_arrays(events, 2, some_stream, nullptr, &error), 1);
  expect(CAI_ERR_ORDER, cai_arrays_same_stream(events, 2, &out, &error), 1);
}

}  // namespace
}  // namespace test::arguments_tests
