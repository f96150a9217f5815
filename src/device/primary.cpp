// SPDX-License-Identifier: BSD-3-Clause
#include "device/primary.hpp"

#include <array>
#include <atomic>
#include <mutex>

#include "core/immortal.hpp"
#include "device/slots.hpp"

namespace cai::device {
namespace {

struct Slot {
  // Held while the context is made or reset; only the driver is called meanwhile. A forked child,
  // which has no driver, never takes it.
  std::mutex mutex;
  std::atomic<driver::CUcontext> context{nullptr};
  std::atomic<driver::CUcontext> last{nullptr};  // the current or the former one
  std::atomic<std::uint64_t> epoch{1};
  std::atomic<std::uint64_t> host_work{0}, waiting{0};  // of CPU streams; see the header
  driver::CUdevice device = 0;
};

std::atomic<std::uint64_t> reset_count{0};

void await_none(const std::atomic<std::uint64_t> &count) noexcept {
  while (const std::uint64_t now = count.load()) count.wait(now);
}

void end_one(std::atomic<std::uint64_t> &count) noexcept {
  if (count.fetch_sub(1) == 1) count.notify_all();
}

Slot &slot_of(int32_t ordinal) {
  // Never destroyed: memory may be freed as late as the process ends.
  return immortal<std::array<Slot, most_devices>>()[static_cast<std::size_t>(ordinal)];
}

}  // namespace

void require_gpu(const driver::Driver &cu, int32_t ordinal) {
  int count = 0;
  driver::call(cu.cuDeviceGetCount, &count);
  if (ordinal < 0 || ordinal >= std::min<int>(count, most_devices)) {
    throw Failure(CAI_ERR_DEVICE, {}, "there is no gpu:%d: this process sees %d", ordinal, count);
  }
}

Primary primary(driver::Session &session, int32_t ordinal) {
  if (ordinal < 0 || ordinal >= most_devices) require_gpu(session.cu, ordinal);
  Slot &slot = slot_of(ordinal);
  if (const driver::CUcontext context = slot.context.load(std::memory_order_acquire)) {
    return {slot.device, context, slot.epoch.load(std::memory_order_relaxed)};
  }
  require_gpu(session.cu, ordinal);
  session.use_relaxed_mode();
  const std::lock_guard lock(slot.mutex);
  driver::CUcontext context = slot.context.load(std::memory_order_relaxed);
  if (!context) {
    driver::call(session.cu.cuDeviceGet, &slot.device, ordinal);
    driver::call(session.cu.cuDevicePrimaryCtxRetain, &context, slot.device);
    slot.last.store(context, std::memory_order_relaxed);
    slot.context.store(context, std::memory_order_release);
  }
  return {slot.device, context, slot.epoch.load(std::memory_order_relaxed)};
}

std::optional<int32_t> current_gpu(driver::Session &session) {
  const driver::CUcontext current = session.current();
  if (!current) return std::nullopt;
  driver::CUdevice device = 0;  // the device's ordinal
  const driver::CUresult result = session.cu.cuCtxGetDevice(&device);
  if (result == driver::success) return device;
  if (session.is_destroyed(current)) {
    for (int32_t ordinal = 0; ordinal < most_devices; ++ordinal) {
      if (slot_of(ordinal).last.load(std::memory_order_relaxed) == current) return ordinal;
    }
  }
  driver::fail_call(session.cu.cuCtxGetDevice.name, result);
}

bool is_alive(int32_t ordinal, std::uint64_t epoch) noexcept {
  return slot_of(ordinal).epoch.load(std::memory_order_acquire) == epoch;
}

std::uint64_t epoch_of(int32_t ordinal) noexcept {
  return slot_of(ordinal).epoch.load(std::memory_order_acquire);
}

std::uint64_t resets() noexcept {
  return reset_count.load(std::memory_order_acquire);
}

void begin_host_work(int32_t ordinal) noexcept {
  slot_of(ordinal).host_work.fetch_add(1);
}

void end_host_work(int32_t ordinal) noexcept {
  end_one(slot_of(ordinal).host_work);
}

void await_host_work(int32_t ordinal) noexcept {
  await_none(slot_of(ordinal).host_work);
}

WithinContext::WithinContext(int32_t ordinal, std::uint64_t epoch) noexcept : ordinal_(ordinal) {
  slot_of(ordinal).waiting.fetch_add(1);  // first: a reset changes the epoch, and then looks
  is_alive_ = slot_of(ordinal).epoch.load() == epoch;
}

WithinContext::~WithinContext() {
  end_one(slot_of(ordinal_).waiting);
}

void reset_primary(driver::Session &session, int32_t ordinal) {
  require_gpu(session.cu, ordinal);
  Slot &slot = slot_of(ordinal);
  session.use_relaxed_mode();
  const std::lock_guard lock(slot.mutex);
  driver::CUdevice device = 0;
  driver::call(session.cu.cuDeviceGet, &device, ordinal);
  const bool held = slot.context.exchange(nullptr, std::memory_order_acq_rel) != nullptr;
  slot.epoch.fetch_add(1);
  reset_count.fetch_add(1, std::memory_order_release);
  await_none(slot.waiting);
  driver::call(session.cu.cuDevicePrimaryCtxReset, device);
  // The reset does not change the counts, so this retain is released, and taken again at the next
  // use.
  if (held) driver::call(session.cu.cuDevicePrimaryCtxRelease, device);
}

}  // namespace cai::device
