// SPDX-License-Identifier: BSD-3-Clause
// Devices: named, found, described, current.
#include <thread>

#include "scene.hpp"

namespace test::devices_tests {
namespace {

static_assert(sizeof(cai_device) == 8 && sizeof(cai_device_guard) == 32);
static_assert(sizeof(cai_device_info) == 304 && sizeof(cai_stream_info) == 64);
static_assert(sizeof(cai_stream_guard) == 32);

bool operator==(cai_device a, cai_device b) {
  return a.type == b.type && a.id == b.id;
}

class Devices : public OnDevices {
 protected:
  // The memory that the first GPU's pool holds.
  static std::uint64_t reserved() {
    constexpr int reserved_now = 5;
    Handle pool = nullptr;
    std::uint64_t bytes = 0;
    MUST(gpu().cuDeviceGetMemPool(&pool, 0));
    MUST(gpu().cuMemPoolGetAttribute(pool, reserved_now, &bytes));
    return bytes;
  }
};

TEST_F(Devices, Parse) {
  const struct {
    const char *text;
    cai_device device;
  } good[] = {
      {"cpu", cpu},        {"CPU", cpu},     {" \tcPu\n", cpu},    {"gpu", gpu0},
      {"cuda", gpu0},      {"gpu:0", gpu0},  {"gpu:1", gpu1},      {"cuda:1", gpu1},
      {"CuDa : 1 ", gpu1}, {"gpu:01", gpu1}, {" GPU: FREE", gpu0}, {"cuda:free", gpu0},
  };
  for (const auto &[text, device] : good) {
    cai_device found{-1, -1};
    ASSERT_OK(cai_device_parse(text, &found, error));
    EXPECT_TRUE(found == device) << text;
  }
  for (const char *text :
       {"", " ", "gp", "gpuu", "cpu:", "cpu:0", "gpu:", "gpu: ", "gpu:x", "gpu:-1", "gpu:+1",
        "gpu:1x", "gpu:1:1", "gpu 1", "gpu:0x1", ":1", "tpu:1", "\xff\xfe"}) {
    cai_device found{-1, -1};
    EXPECT_FAILS(CAI_ERR_VALUE, "is not a device", cai_device_parse(text, &found, error));
    EXPECT_TRUE((found == cai_device{-1, -1})) << text;
  }
  cai_device found{-1, -1};
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_parse("gpu:2", &found, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "2 GPUs",
               cai_device_parse("gpu:99999999999999999999", &found, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "text", cai_device_parse(nullptr, &found, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_device_parse("cpu", nullptr, error));
  EXPECT_TRUE((found == cai_device{-1, -1}));
}

TEST_F(Devices, Format) {
  char text[CAI_DEVICE_TEXT_SIZE];
  ASSERT_OK(cai_device_format(cpu, text, error));
  EXPECT_STREQ(text, "cpu");
  ASSERT_OK(cai_device_format(gpu1, text, error));
  EXPECT_STREQ(text, "gpu:1");
  ASSERT_OK(cai_device_format({CAI_DEVICE_CUDA, INT32_MAX}, text, error));
  EXPECT_STREQ(text, "gpu:2147483647");
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_format({3, 0}, text, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "-1", cai_device_format({CAI_DEVICE_CUDA, -1}, text, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "1", cai_device_format({CAI_DEVICE_CPU, 1}, text, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "text", cai_device_format(cpu, nullptr, error));
  EXPECT_STREQ(text, "gpu:2147483647");
}

TEST_F(Devices, Count) {
  std::int32_t found = -1;
  ASSERT_OK(cai_device_count(CAI_DEVICE_CPU, &found, error));
  EXPECT_EQ(found, 1);
  ASSERT_OK(cai_device_count(CAI_DEVICE_CUDA, &found, error));
  EXPECT_EQ(found, 2);
  EXPECT_FAILS(CAI_ERR_VALUE, "0 is not a device type", cai_device_count(0, &found, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "count", cai_device_count(CAI_DEVICE_CPU, nullptr, error));
}

TEST_F(Devices, Current) {
  cai_device found{};
  ASSERT_OK(cai_device_current(CAI_DEVICE_CPU, &found, error));
  EXPECT_TRUE(found == cpu);
  ASSERT_EQ(current(), nullptr);
  ASSERT_OK(cai_device_current(CAI_DEVICE_CUDA, &found, error));
  EXPECT_TRUE(found == gpu0);
  {
    const With with(primary(1));
    ASSERT_OK(cai_device_current(CAI_DEVICE_CUDA, &found, error));
    EXPECT_TRUE(found == gpu1);
    ASSERT_OK(cai_device_parse("gpu", &found, error));
    EXPECT_TRUE(found == gpu1);
    ASSERT_OK(cai_device_set_current(gpu0, error));
    EXPECT_EQ(current(), primary(0));
    ASSERT_OK(cai_device_set_current(cpu, error));
    EXPECT_EQ(current(), primary(0));
    EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_set_current({CAI_DEVICE_CUDA, 2}, error));
    EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:300", cai_device_set_current({CAI_DEVICE_CUDA, 300}, error));
    EXPECT_FAILS(CAI_ERR_VALUE, "-1", cai_device_set_current({CAI_DEVICE_CUDA, -1}, error));
    EXPECT_EQ(current(), primary(0));
  }
  EXPECT_FAILS(CAI_ERR_VALUE, "13", cai_device_current(CAI_DEVICE_CUDA_MANAGED, &found, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_device_current(CAI_DEVICE_CPU, nullptr, error));
}

TEST_F(Devices, CurrentIsTheThreads) {
  const With with(primary(1));
  std::thread([] {
    cai_device found{-1, -1};
    EXPECT_EQ(cai_device_current(CAI_DEVICE_CUDA, &found, nullptr), CAI_OK);
    EXPECT_TRUE(found == gpu0);
  }).join();
}

TEST_F(Devices, Guards) {
  cai_device_guard outer{}, inner{}, host{};
  ASSERT_OK(cai_device_enter(gpu1, &outer, error));
  EXPECT_EQ(current(), primary(1));
  EXPECT_EQ(outer.context, value(primary(1)));
  EXPECT_EQ(outer.previous, 0U);
  ASSERT_OK(cai_device_enter(cpu, &host, error));
  EXPECT_EQ(current(), primary(1));
  ASSERT_OK(cai_device_enter(gpu0, &inner, error));
  EXPECT_EQ(inner.previous, value(primary(1)));

  EXPECT_FAILS(CAI_ERR_STATE, "reverse order", cai_device_leave(&outer, error));
  EXPECT_EQ(current(), primary(0));
  std::thread([&] {
    EXPECT_FAILS(CAI_ERR_STATE, "another thread", cai_device_leave(&inner, error));
  }).join();
  ASSERT_OK(cai_device_leave(&inner, error));
  EXPECT_EQ(current(), primary(1));
  EXPECT_FAILS(CAI_ERR_STATE, "left already", cai_device_leave(&inner, error));
  ASSERT_OK(cai_device_leave(&host, error));
  EXPECT_FAILS(CAI_ERR_STATE, "left already", cai_device_leave(&host, error));
  ASSERT_OK(cai_device_leave(&outer, error));
  EXPECT_EQ(current(), nullptr);

  cai_device_guard none{};
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_enter({CAI_DEVICE_CUDA, 2}, &none, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_enter({0, 0}, &none, error));
  EXPECT_FAILS(CAI_ERR_STATE, "left already", cai_device_leave(&none, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "guard", cai_device_enter(cpu, nullptr, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "guard", cai_device_leave(nullptr, error));
}

TEST_F(Devices, Describe) {
  cai_device_info info{};
  info.struct_size = sizeof info;
  ASSERT_OK(cai_device_describe(gpu1, &info, error));
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_STREQ(info.name, "simcuda simulated device 1");
  EXPECT_EQ(info.total, std::uint64_t{4096} << 20);
  EXPECT_EQ(info.flags & CAI_DEVICE_POOLS, unsigned{CAI_DEVICE_POOLS});
  EXPECT_EQ(info.pci_bus, 2);

  cai_device found{};
  ASSERT_OK(cai_device_find(info.uuid, &found, error));
  EXPECT_TRUE(found == gpu1);
  std::uint8_t other[16] = {1, 2, 3};
  EXPECT_FAILS(CAI_ERR_DEVICE, "01020300", cai_device_find(other, &found, error));
  EXPECT_TRUE(found == gpu1);
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "uuid", cai_device_find(nullptr, &found, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_device_find(other, nullptr, error));

  cai_device_info host{};
  host.struct_size = sizeof host;
  ASSERT_OK(cai_device_describe(cpu, &host, error));
  EXPECT_GT(std::strlen(host.name), 0U);
  EXPECT_GT(host.total, std::uint64_t{1} << 20);
  EXPECT_EQ(host.flags, 0U);

  // An older caller's struct: only as much is written as fits.
  cai_device_info old;
  std::memset(&old, 0x55, sizeof old);
  old.struct_size = 24;
  ASSERT_OK(cai_device_describe(gpu1, &old, error));
  EXPECT_EQ(std::memcmp(old.uuid, info.uuid, 16), 0);
  EXPECT_EQ(old.pci_domain, 0x55555555);
  old.struct_size = 7;
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "struct_size is 7", cai_device_describe(gpu1, &old, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_device_describe(gpu1, nullptr, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_describe({CAI_DEVICE_CUDA, 2}, &info, error));
}

TEST_F(Devices, Summary) {
  for (const cai_device device : {cpu, gpu0}) {
    std::uint64_t length = 0;
    ASSERT_OK(cai_device_summary(device, nullptr, 0, &length, error));
    std::string text(length + 1, 'x');
    ASSERT_OK(cai_device_summary(device, text.data(), text.size(), nullptr, error));
    EXPECT_EQ(std::strlen(text.c_str()), length);
    EXPECT_EQ(text.rfind(device.type == CAI_DEVICE_CPU ? "cpu: " : "gpu:0: simcuda", 0), 0U)
        << text;
    char cut[8];
    ASSERT_OK(cai_device_summary(device, cut, sizeof cut, &length, error));
    EXPECT_EQ(std::string(cut), text.substr(0, 7));
  }
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "text", cai_device_summary(cpu, nullptr, 1, nullptr, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2",
               cai_device_summary({CAI_DEVICE_CUDA, 2}, nullptr, 0, nullptr, error));
}

TEST_F(Devices, Memory) {
  std::uint64_t free = 0, total = 0, again = 0;
  ASSERT_OK(cai_device_memory(cpu, &free, &total, error));
  EXPECT_GT(free, 0U);
  EXPECT_LE(free, total);
  ASSERT_OK(cai_device_memory(gpu0, &free, &total, error));
  EXPECT_EQ(total, std::uint64_t{4096} << 20);
  ASSERT_OK(cai_device_memory(gpu0, nullptr, nullptr, error));
  cai_device freest{};
  ASSERT_OK(cai_device_most_free(CAI_DEVICE_CUDA, &freest, error));
  EXPECT_TRUE(freest == gpu0);  // the first of several

  const With with(primary(0));
  Address much = 0;
  MUST(gpu().cuMemAlloc_v2(&much, std::size_t{64} << 20));
  ASSERT_OK(cai_device_memory(gpu0, &again, nullptr, error));
  EXPECT_EQ(free - again, std::uint64_t{64} << 20);
  ASSERT_OK(cai_device_most_free(CAI_DEVICE_CUDA, &freest, error));
  EXPECT_TRUE(freest == gpu1);
  ASSERT_OK(cai_device_parse("gpu:free", &freest, error));
  EXPECT_TRUE(freest == gpu1);
  MUST(gpu().cuMemFree_v2(much));

  ASSERT_OK(cai_device_most_free(CAI_DEVICE_CPU, &freest, error));
  EXPECT_TRUE(freest == cpu);
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_most_free(7, &freest, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "out", cai_device_most_free(CAI_DEVICE_CPU, nullptr, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:9",
               cai_device_memory({CAI_DEVICE_CUDA, 9}, &free, &total, error));
}

TEST_F(Devices, CanAccess) {
  const struct {
    cai_device device, peer;
    int yes;
  } cases[] = {{cpu, cpu, 1}, {gpu0, gpu0, 1}, {cpu, gpu0, 0}, {gpu1, cpu, 0}, {gpu0, gpu1, 1}};
  for (const auto &[device, peer, yes] : cases) {
    std::int32_t found = -1;
    ASSERT_OK(cai_device_can_access(device, peer, &found, error));
    EXPECT_EQ(found, yes) << device.type << peer.type;
  }
  std::int32_t found = -1;
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:5",
               cai_device_can_access(cpu, {CAI_DEVICE_CUDA, 5}, &found, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_can_access({9, 0}, cpu, &found, error));
  EXPECT_FAILS(CAI_ERR_ARGUMENT, "yes", cai_device_can_access(cpu, cpu, nullptr, error));
  EXPECT_EQ(found, -1);
}

// A current context that another thread has destroyed is of no device that anybody could name.
TEST_F(Devices, ADestroyedContextIsNoCurrentDevice) {
  Handle gone = nullptr;
  MUST(gpu().cuCtxCreate_v2(&gone, 0, 0));
  std::thread([&] { MUST(gpu().cuCtxDestroy_v2(gone)); }).join();
  cai_device found{-1, -1};
  EXPECT_FAILS(CAI_ERR_CUDA, "cuCtxGetDevice", cai_device_current(CAI_DEVICE_CUDA, &found, error));
  EXPECT_TRUE((found == cai_device{-1, -1}));
  MUST(gpu().cuCtxPopCurrent_v2(&gone));
}

TEST_F(Devices, Cache) {
  ASSERT_OK(cai_device_set_cache(cpu, 1 << 20, error));
  ASSERT_OK(cai_device_trim_cache(cpu, 0, error));
  EXPECT_EQ(calls("cuMemPoolTrimTo") + calls("cuMemPoolSetAttribute"), 0U);
  ASSERT_OK(cai_device_set_cache(gpu0, std::uint64_t{1} << 30, error));
  const Stream stream(gpu0, CAI_MODE_ASYNC);
  Address block = 0;
  MUST(gpu().cuMemAllocAsync(&block, 1 << 20, handle(stream.value())));
  MUST(gpu().cuMemFreeAsync(block, handle(stream.value())));
  ASSERT_OK(cai_stream_synchronize(stream, error));
  EXPECT_GE(reserved(), std::uint64_t{1} << 20);
  ASSERT_OK(cai_device_trim_cache(gpu0, 0, error));
  EXPECT_EQ(reserved(), 0U);
  ASSERT_OK(cai_device_set_cache(gpu0, 0, error));
  EXPECT_FAILS(CAI_ERR_DEVICE, "gpu:2", cai_device_set_cache({CAI_DEVICE_CUDA, 2}, 0, error));
  EXPECT_FAILS(CAI_ERR_VALUE, "type", cai_device_trim_cache({0, 0}, 0, error));
}

}  // namespace
}  // namespace test::devices_tests
