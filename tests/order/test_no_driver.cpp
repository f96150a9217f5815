// SPDX-License-Identifier: BSD-3-Clause
// No driver, or one that is no good: a status that says so, the same again at the next call, and
// never a crash. TEST_DRIVER says what there is; see meson.build.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cai.h"
#include "cai/device.h"
#include "cai/dlpack.h"
#include "cai/memory.h"
#include "failing.hpp"
#include "uses.hpp"

namespace test::no_driver_tests {
namespace {

std::string which() {
  const char *name = std::getenv("TEST_DRIVER");
  return name ? name : "none";
}

struct Array {
  std::int64_t shape[1] = {4};
  std::int64_t strides[1] = {1};
  cai_array array{};

  explicit Array(std::uint64_t stream) {
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
    array.stream_kind = CAI_STREAM_STREAM;
    array.version = 3;
  }
};

constexpr std::uint64_t consumer = 0x5500;

cai_status begin(std::uint64_t producer, cai_error *error) {
  const Array array(producer);
  const cai_array *const list[] = {&array.array};
  return test::begin_arrays(list, 1, consumer, nullptr, error);
}

// Of the library that libcai has loaded, if it is one of tests/order.
int fake(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto function = library ? reinterpret_cast<int (*)()>(dlsym(library, name)) : nullptr;
  return function ? function() : -1;
}

struct Expected {
  int native;
  const char *text;
};

Expected expected() {
  const std::string name = which();
  if (name == "none") return {0, "libcuda.so.1"};
  if (name == "stub" || name == "stub_of_functions") return {34, "CUDA_ERROR_STUB_LIBRARY"};
  if (name == "no_device") return {100, "CUDA_ERROR_NO_DEVICE"};
  if (name == "old" || name == "v1")
    return {0, "expected a CUDA driver of 12.0 or newer, got one that is too old"};
  if (name == "missing") return {500, "cuEventRecord of CUDA 2.0"};
  if (name == "no_init") return {500, "cuInit"};
  if (name == "failing_named") {
    return {999, "[cuInit] CUDA_ERROR_OF_THE_FAKE (999): the CUDA driver 12.4 does not start"};
  }
  if (name.rfind("failing", 0) == 0) {
    return {999, "[cuInit] unknown error (999): the CUDA driver does not start"};
  }
  return {0, nullptr};
}

// A machine with a driver finds that one, whatever the test would like.
bool driver_in_the_way() {
  void *library = which() == "none" ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library) dlclose(library);
  return library != nullptr;
}

// Threads that all come first.
TEST(Driver, FirstNeed) {
  if (driver_in_the_way()) GTEST_SKIP() << "there is a driver";
  int calls = 0;
  const auto count = [](void *it) { ++*static_cast<int *>(it); };
  EXPECT_EQ(cai_spare_captures(0, count, &calls), 1);  // which is no need
  EXPECT_EQ(calls, 1);
  std::vector<std::thread> threads;
  std::atomic<int> waiting{4};
  const Expected what = expected();
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      cai_error error{};
      const cai_status status = begin(0x6600, &error);
      if (!what.text) return;
      EXPECT_EQ(status, CAI_ERR_DRIVER);
      EXPECT_EQ(error.native, what.native);
    });
  }
  for (std::thread &thread : threads) thread.join();
}

TEST(Driver, StatusAndReason) {
  const Expected what = expected();
  ASSERT_NE(what.text, nullptr) << "this driver works";
  if (driver_in_the_way()) GTEST_SKIP() << "there is a driver";
  const auto check = [&](cai_status status, const cai_error &error) {
    EXPECT_EQ(status, CAI_ERR_DRIVER);
    EXPECT_EQ(error.status, CAI_ERR_DRIVER);
    EXPECT_EQ(error.native, what.native) << error.message;
    EXPECT_NE(std::string(error.message).find(what.text), std::string::npos) << error.message;
  };
  for (const std::uint64_t producer : {std::uint64_t{0x6600}, std::uint64_t{1}, std::uint64_t{2}}) {
    const Array array(producer);
    const cai_array *const list[] = {&array.array, &array.array};
    for (int twice = 0; twice < 2; ++twice) {
      cai_error error{};
      check(begin(producer, &error), error);
      error = {};
      check(test::end_arrays(list, 2, consumer, nullptr, &error), error);
      error = {};
      check(cai_array_sync_host(&array.array, &error), error);
      error = {};
      cai_location where{};
      where.struct_size = sizeof where;
      check(cai_array_locate(&array.array, &where, &error), error);
    }
    EXPECT_EQ(begin(producer, nullptr), CAI_ERR_DRIVER);
  }
  // Two default streams of different memory: only a driver could tell them apart.
  Array one(1);
  Array two(1);
  two.array.data = 0x8000;
  const cai_array *const list[] = {&one.array, &two.array};
  std::uint64_t out = 7;
  cai_error error{};
  check(cai_arrays_same_stream(list, 2, &out, &error), error);
  EXPECT_EQ(out, 7U);
  // The threads may have raced for it, but after that nobody asks again.
  const int calls = fake("fake_init_calls");
  begin(0x6600, nullptr);
  EXPECT_EQ(fake("fake_init_calls"), calls);
}

// Without a driver nothing can be pending: calls that need no order work, and whatever was used
// ends at once.
TEST(Driver, NothingIsPending) {
  if (driver_in_the_way()) GTEST_SKIP() << "there is a driver";
  const auto end = [](void *ended) { ++*static_cast<int *>(ended); };
  enum Way { ended, without_memory, abandoned, ways };
  for (int way = ended; way < ways; ++way) {
    const Array borrowed(consumer);
    int times = 0;
    cai_array *owned = nullptr;
    ASSERT_EQ(cai_array_own(&borrowed.array, end, &times, &owned, nullptr), CAI_OK);
    const cai_array *const list[] = {owned};
    cai_use use;
    ASSERT_EQ(cai_use_begin(&use, list, 1, consumer, nullptr, nullptr), CAI_OK);
    if (way == abandoned) {
      cai_use_abandon(&use);
    } else {
      EXPECT_EQ(cai_use_end(&use, nullptr), CAI_OK);
    }
    EXPECT_EQ(times, 0);
    test::with_failing_new(way == without_memory ? 0 : -1, [&] { cai_array_release(owned); });
    EXPECT_EQ(times, 1) << way;
  }

  // A dict, and a tensor, whose stream has nothing to come after: 1, and that of an owner with
  // functions of its own.
  cai_owner keeper{};
  keeper.struct_size = sizeof keeper;
  keeper.retain = keeper.release = [](cai_owner *) {};
  keeper.used_on = keeper.await_uses = [](cai_owner *, std::uint64_t, std::uint32_t, cai_error *) {
    return CAI_OK + 0;
  };
  Array kept(consumer);
  kept.array.owner = &keeper;
  Array legacy(1);
  int times = 0;
  cai_array *owned = nullptr;
  ASSERT_EQ(cai_array_own(&legacy.array, end, &times, &owned, nullptr), CAI_OK);
  const cai_array *const said[] = {owned, &kept.array};
  for (const cai_array *const each : said) {
    std::uint64_t storage[64];
    cai_interface dict{};
    dict.struct_size = sizeof dict;
    cai_error error{};
    EXPECT_EQ(cai_interface_write(each, 3, storage, sizeof storage, &dict, &error), CAI_OK)
        << error.message;
    EXPECT_EQ(dict.stream.integer, each->stream);
  }
  cai_array_release(owned);
  EXPECT_EQ(times, 1);

  Array none(consumer);
  none.array.stream = 0;
  none.array.stream_kind = CAI_STREAM_NONE;
  none.array.device_id = 0;
  ASSERT_EQ(cai_array_own(&none.array, end, &times, &owned, nullptr), CAI_OK);
  DLManagedTensor *tensor = nullptr;
  cai_error error{};
  ASSERT_EQ(cai_dlpack_write_legacy(owned, 1, &tensor, &error), CAI_OK) << error.message;
  cai_array_release(owned);
  EXPECT_EQ(times, 1);
  tensor->deleter(tensor);
  EXPECT_EQ(times, 2);
}

// A driver may require a current context for any stream, if none is current.
TEST(Driver, WantsAContext) {
  ASSERT_EQ(which(), "good");
  const Array array(0x6600);
  const cai_array *const list[] = {&array.array};
  cai_error error{};
  EXPECT_EQ(begin(0x6600, &error), CAI_OK) << error.message;
  EXPECT_EQ(test::end_arrays(list, 1, consumer, nullptr, &error), CAI_OK) << error.message;
  EXPECT_EQ(fake("fake_depth"), 0);
}

#ifdef TEST_MEMORY
// It loads, and has no GPU: calls that need one fail, and pinned memory comes from the heap.
TEST(Driver, OfNoDevice) {
  ASSERT_EQ(which(), "good");
  cai_device device{};
  cai_error error{};
  EXPECT_EQ(cai_device_current(CAI_DEVICE_CUDA, &device, &error), CAI_ERR_DEVICE);
  EXPECT_STREQ(error.message, "there is no GPU");
  EXPECT_EQ(cai_device_most_free(CAI_DEVICE_CUDA, &device, &error), CAI_ERR_DEVICE);
  EXPECT_STREQ(error.message, "there is no GPU");
  cai_request request{};
  request.struct_size = sizeof request;
  request.kind = CAI_KIND_PINNED;
  request.size = 64;
  cai_memory *memory = nullptr;
  ASSERT_EQ(cai_memory_alloc({CAI_DEVICE_CPU, 0}, &request, &memory, &error), CAI_OK)
      << error.message;
  cai_memory_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(cai_memory_describe(memory, &info, nullptr), CAI_OK);
  EXPECT_EQ(info.data, info.host);
  cai_memory_release(memory);
}

// It has one, and lacks a function that only some calls need: those say which.
TEST(Driver, OfOneDevice) {
  ASSERT_EQ(which(), "one_device");
  cai_device device{};
  cai_error error{};
  EXPECT_EQ(cai_device_parse("gpu:5", &device, &error), CAI_ERR_DEVICE);
  EXPECT_STREQ(error.message, "there is no \"gpu:5\": this process sees 1 GPU");
  cai_device_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(cai_device_describe({CAI_DEVICE_CUDA, 0}, &info, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 500);
  EXPECT_EQ(std::string(error.message).rfind("[cuDeviceTotalMem]", 0), 0U) << error.message;
}
#endif

// A pop that fails, whether it has done its work or not, leaves the caller's context current.
TEST(Driver, PopFails) {
  ASSERT_TRUE(which() == "late_pop" || which() == "stuck_pop");
  cai_error error{};
  EXPECT_EQ(begin(0x6600, &error), CAI_ERR_CUDA);
  EXPECT_EQ(error.native, 719);
  EXPECT_EQ(std::string(error.message).rfind("[cuCtxPopCurrent]", 0), 0U) << error.message;
  EXPECT_EQ(fake("fake_depth"), 0);
}

}  // namespace
}  // namespace test::no_driver_tests
