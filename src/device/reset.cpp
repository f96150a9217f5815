// SPDX-License-Identifier: BSD-3-Clause
// Synchronises and resets devices.
#include "device/reset.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "device/current.hpp"
#include "device/gpu_stream.hpp"
#include "device/pending.hpp"
#include "device/queue.hpp"

namespace cai::device {
namespace {

struct Callback {
  cai_reset_fn function;
  void *context;

  bool operator==(const Callback &) const = default;
};

// In the order in which they were added.
struct Callbacks {
  GlobalLock mutex;
  std::vector<Callback> all;

  auto find(const Callback &callback) { return std::find(all.begin(), all.end(), callback); }
};

// Never destroyed: any thread may use it until the process ends.
Callbacks &callbacks() {
  return immortal<Callbacks>();
}

constinit thread_local bool resetting = false;

// While one exists, the calling thread is in a reset.
struct Resetting {
  Resetting() {
    if (resetting) throw Failure(CAI_ERR_STATE, {}, "a reset calls this: it cannot begin another");
    resetting = true;
  }
  Resetting(const Resetting &) = delete;
  Resetting &operator=(const Resetting &) = delete;
  ~Resetting() { resetting = false; }
};

// Waits for the thread's current stream.
void synchronize_current(cai_stream &current) {
  current.synchronize();
  current.raise_failure();
}

// The same, unless the stream's owner has destroyed it: then the context waits for its work.
void synchronize_what_is_there(cai_stream &current) {
  try {
    synchronize_current(current);
  } catch (const Failure &failure) {
    if (is_cpu(current.device) || !gpu_stream(current).is_left_over(failure.error())) throw;
  }
}

void synchronize_context(cai_device gpu) {
  driver::Session session;
  session.use_relaxed_mode();
  session.in(primary(session, gpu.id).context, [&] { driver::call(session.cu.cuCtxSynchronize); });
  session.finish();
}

void synchronize(cai_device device, void (*wait_for)(cai_stream &current)) {
  require_device(device);
  const HeldStream current = current_stream_if_any(device);
  if (!is_cpu(device)) {
    driver::Session session;
    require_no_captures(session, primary(session, device.id));
    session.finish();
  }
  if (current.get() && !is_dead(*current.get())) wait_for(*current.get());
  if (!is_cpu(device)) synchronize_context(device);
}

void take(const std::atomic<ResetStep> &step, cai_device device) noexcept {
  if (const ResetStep set = step.load(std::memory_order_acquire)) set(device);
}

void reset(cai_device device, std::uint32_t flags) {
  if (flags & ~std::uint32_t{CAI_RESET_CONTEXT}) {
    throw Failure(CAI_ERR_ARGUMENT, {}, "flags are 0x%x, not only CAI_RESET_*", flags);
  }
  const Resetting during;
  synchronize(device, synchronize_what_is_there);
  std::vector<Callback> all;
  {
    Callbacks &added = callbacks();
    const std::lock_guard lock(added.mutex);
    all = added.all;
  }
  for (const Callback &callback : all) callback.function(callback.context, device);
  const bool ends_context = !is_cpu(device) && (flags & CAI_RESET_CONTEXT);
  // Work of a CPU stream would wait for itself.
  if (ends_context && !Queue::is_any_here()) await_host_work(device.id);
  forget_current(device);
  if (!is_cpu(device)) {
    end_left();
    cai_error error;
    if (cai_drain(0, nullptr, &error) != CAI_OK) throw Failure(error);
  }
  take(reset_steps.frees, device);
  flush_before_reset(device);
  take(reset_steps.managers, device);
  flush_before_reset(device);  // memory that the managers have released
  if (!ends_context) return;
  take(reset_steps.memory_of_pools, device);
  take(reset_steps.pools, device);
  end_wrapped_streams(device.id);
  synchronize_context(device);
  driver::Session session;
  reset_primary(session, device.id);
  forget_pending(device);
  take(reset_steps.memory, device);
  session.finish();
}

}  // namespace

}  // namespace cai::device

using namespace cai;

cai_status cai_device_synchronize(cai_device which, cai_error *error) {
  return guard(error, [&] { device::synchronize(which, device::synchronize_current); });
}

cai_status cai_device_reset(cai_device which, uint32_t flags, cai_error *error) {
  return guard(error, [&] { device::reset(which, flags); });
}

cai_status cai_device_on_reset(cai_reset_fn callback, void *context, cai_error *error) {
  return guard(error, [&] {
    device::require(callback, "callback");
    device::Callbacks &all = device::callbacks();
    const std::lock_guard lock(all.mutex);
    if (all.find({callback, context}) == all.all.end()) all.all.push_back({callback, context});
  });
}

cai_status cai_device_off_reset(cai_reset_fn callback, void *context, cai_error *error) {
  return guard(error, [&] {
    device::require(callback, "callback");
    device::Callbacks &all = device::callbacks();
    const std::lock_guard lock(all.mutex);
    const auto found = all.find({callback, context});
    if (found != all.all.end()) all.all.erase(found);
  });
}
