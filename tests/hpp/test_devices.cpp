// SPDX-License-Identifier: BSD-3-Clause
// cai::device and its guard.
#include <thread>

#include "each.hpp"

namespace test::devices_tests {
namespace {

static_assert(std::is_trivially_copyable_v<cai::device>);
static_assert(std::is_nothrow_convertible_v<cai::device, cai_device>);
static_assert(std::is_nothrow_convertible_v<cai_device, cai::device>);
static_assert(!std::is_copy_constructible_v<cai::device_guard>);
static_assert(!std::is_move_constructible_v<cai::device_guard>);
static_assert(std::is_nothrow_destructible_v<cai::device_guard>);
static_assert(cai::device() == cai::device::cpu() && !(cai::device() == cai::device::gpu(0)));

TEST(Device, CountsWhatThereIs) {
  EXPECT_EQ(cai::device::count(), has_driver() ? 2 : 0);
  EXPECT_EQ(cai::device::count(CAI_DEVICE_CPU), 1);
  EXPECT_EQ(cai::device::all(CAI_DEVICE_CPU), std::vector{cai::device::cpu()});
  EXPECT_EQ(cai::device::all().size(), has_driver() ? 2U : 0U);
  EXPECT_EQ(status_of([] { cai::device::count(7); }), CAI_ERR_VALUE);
}

TEST(Device, ReadsTexts) {
  EXPECT_EQ(cai::device::parse(" CPU "), cai::device::cpu());
  for (const char *bad : {"", "cpu:x", "tpu", "gpu:-1", "gpu:1x"}) {
    EXPECT_EQ(status_of([&] { static_cast<void>(cai::device::parse(bad)); }), CAI_ERR_VALUE) << bad;
  }
  EXPECT_EQ(status_of([] { static_cast<void>(cai::device::parse(std::string("cpu\0:1", 6))); }),
            CAI_ERR_VALUE);
  EXPECT_EQ(status_of([] { static_cast<void>(cai::device(cai_device{9, 0}).format()); }),
            CAI_ERR_VALUE);
  EXPECT_EQ(cai::device::gpu(12).format(), "gpu:12");
  if (has_driver()) {
    EXPECT_EQ(cai::device::parse("Cuda:1"), cai::device::gpu(1));
    EXPECT_EQ(cai::device::parse("gpu"), cai::device::current());
    EXPECT_TRUE(cai::device::parse("gpu:free").is_gpu());
    EXPECT_TRUE(cai::device::most_free().is_gpu());
    EXPECT_EQ(status_of([] { static_cast<void>(cai::device::parse("gpu:2")); }), CAI_ERR_DEVICE);
  } else {
    for (const char *text : {"gpu", "gpu:0", "gpu:free"}) {
      EXPECT_EQ(status_of([&] { static_cast<void>(cai::device::parse(text)); }), CAI_ERR_DRIVER);
    }
    EXPECT_EQ(status_of([] { static_cast<void>(cai::device::most_free()); }), CAI_ERR_DRIVER);
    EXPECT_EQ(status_of([] { cai::device_guard(cai::device::gpu(0)); }), CAI_ERR_DRIVER);
    EXPECT_EQ(status_of([] { cai::stream(cai::device::gpu(0)); }), CAI_ERR_DRIVER);
  }
}

class OnDevice : public OnEach {};
ON_EACH_DEVICE(OnDevice);

TEST_P(OnDevice, SaysWhatItIs) {
  EXPECT_EQ(cai::device::parse(device.format()), device);
  EXPECT_EQ(device.is_cpu(), !device.is_gpu());
  EXPECT_EQ(device.type(), device.is_cpu() ? CAI_DEVICE_CPU : CAI_DEVICE_CUDA);
  const cai_device_info info = device.info();
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_GT(info.total, 0U);
  const cai::memory_amount amount = device.memory();
  EXPECT_GT(amount.free, 0U);
  EXPECT_LE(amount.free, amount.total);
  const std::string summary = device.summary();
  EXPECT_NE(summary.find(info.name), std::string::npos) << summary;
  EXPECT_EQ(summary.find('\0'), std::string::npos);
  EXPECT_EQ(cai::device::most_free(device.type()).type(), device.type());
  EXPECT_TRUE(device.can_access(device));
  if (device.is_gpu()) {
    EXPECT_EQ(cai::device::find(info.uuid), device);
    EXPECT_FALSE(device.can_access(cai::device::cpu()));
  }
}

TEST_P(OnDevice, IsCurrentForAWhile) {
  const auto now = [&] { return cai::device::current(device.type()); };
  const cai::device before = now();
  {
    cai::device_guard guard(device);
    EXPECT_TRUE(guard);
    EXPECT_EQ(now(), device);
    guard.leave();
    EXPECT_FALSE(guard);
    guard.leave();
    EXPECT_EQ(guard.try_leave(nullptr), CAI_OK);
  }
  EXPECT_EQ(now(), before);
  try {
    const cai::device_guard guard(device);
    const cai::device_guard nested(device);
    throw Thrown();
  } catch (const Thrown &) {
  }
  EXPECT_EQ(now(), before);  // and the fixture looks at the stack of contexts
  std::thread([&] {
    device.set_current();
    EXPECT_EQ(now(), device);
  }).join();
}

TEST_P(OnDevice, GuardsAreLeftInTurnAndWhereTheyWereEntered) {
  cai::device_guard outer;
  EXPECT_FALSE(outer);
  cai_error error{};
  ASSERT_EQ(outer.try_enter(device, &error), CAI_OK) << error.message;
  EXPECT_EQ(outer.try_enter(device, &error), CAI_ERR_STATE);
  EXPECT_EQ(outer.try_enter(device, nullptr), CAI_ERR_STATE);
  std::thread([&] { EXPECT_EQ(outer.try_leave(nullptr), CAI_ERR_STATE); }).join();
  EXPECT_TRUE(outer);
  if (device.is_gpu() && cai::device::count() > 1) {
    const cai::device_guard inner(cai::device::gpu(1 - device.id()));
    EXPECT_EQ(status_of([&] { outer.leave(); }), CAI_ERR_STATE);
    EXPECT_TRUE(outer);
  }
  outer.leave();
  EXPECT_EQ(status_of([] { cai::device_guard(cai::device::gpu(77)); }),
            has_driver() ? CAI_ERR_DEVICE : CAI_ERR_DRIVER);
}

TEST_P(OnDevice, AGuardThatCannotLeaveSaysSo) {
  auto guard = std::make_unique<cai::device_guard>(device);
  std::thread([&guard] { guard.reset(); }).join();
  ASSERT_EQ(Failures::seen().size(), 1U);
  EXPECT_EQ(Failures::seen()[0].status, CAI_ERR_STATE);
  Failures::seen().clear();
  if (device.is_gpu()) {  // what the guard could not do
    Handle popped = nullptr;
    MUST(gpu().cuCtxPopCurrent_v2(&popped));
  }
}

TEST_P(OnDevice, Resets) {
  int calls = 0;
  const auto count = [](void *context, cai_device) noexcept { ++*static_cast<int *>(context); };
  cai::device::on_reset(count, &calls);
  cai::device::on_reset(count, &calls);
  device.reset();
  EXPECT_EQ(calls, 1);
  device.reset();
  EXPECT_EQ(calls, 2);
  cai::device::off_reset(count, &calls);
  device.reset();
  EXPECT_EQ(calls, 2);
}

TEST_P(OnDevice, TrimsItsCache) {
  device.synchronize();
  device.set_cache(1 << 20);
  device.trim_cache();
  device.set_cache(0);
  EXPECT_EQ(status_of([] { cai::device(cai_device{9, 0}).set_cache(0); }), CAI_ERR_VALUE);
}

}  // namespace
}  // namespace test::devices_tests
