// SPDX-License-Identifier: BSD-3-Clause
#include "driver/context.hpp"

#include <atomic>
#include <iterator>

namespace cai::driver {

void Session::finish() {
  if (!primaries_.empty()) release_primaries();
  if (relaxed_) relaxed_->restore();
  faults.raise();
}

Sparing::Sparing(bool needed) noexcept {
  if (!needed) return;
  static_cast<void>(guard(nullptr, [&] {
    session_.emplace();
    session_->use_relaxed_mode();
  }));
}

CUcontext Session::of_stream(std::uint64_t stream) const {
  CUcontext context = nullptr;
  call(cu.cuStreamGetCtx, stream_handle(stream), &context);
  return context;
}

std::uint64_t Session::id_of(CUcontext context) const {
  unsigned long long id = 0;
  call(cu.cuCtxGetId, context, &id);
  return id;
}

// The ids of the last seen primary contexts of the first devices. Ids never recur, so a current
// context is recognised by its id without being retained.
static constinit std::atomic<unsigned long long> known_primaries[64];

CUcontext Session::of_device(int ordinal) {
  const CUcontext here = current();
  const auto index = static_cast<std::size_t>(ordinal);
  auto *const known = index < std::size(known_primaries) ? &known_primaries[index] : nullptr;
  if (here && known && known->load()) {
    unsigned long long id = 0;
    const CUresult result = cu.cuCtxGetId(here, &id);
    if (result != success && !is_destroyed(here)) fail_call(cu.cuCtxGetId.name, result);
    if (result == success && id == known->load()) return here;
  }
  CUdevice device = 0;
  call(cu.cuDeviceGet, &device, ordinal);
  if (const CUcontext primary = primary_of(device)) {
    if (known) known->store(id_of(primary));
    return primary;
  }
  if (!here) return nullptr;
  CUdevice of_current = 0;
  const CUresult result = cu.cuCtxGetDevice(&of_current);
  if (result != success && !is_destroyed(here)) fail_call(cu.cuCtxGetDevice.name, result);
  return result == success && of_current == device ? here : nullptr;
}

std::vector<CUcontext> Session::primaries() {
  std::vector<CUcontext> found;
  int count = 0;
  call(cu.cuDeviceGetCount, &count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      CUdevice device = 0;
      call(cu.cuDeviceGet, &device, ordinal);
      if (const CUcontext context = primary_of(device)) found.push_back(context);
    } catch (const Failure &failure) {
      faults.note(failure.error());  // the other devices are still tried
    }
  }
  return found;
}

CUcontext Session::primary_of(CUdevice device) {
  for (const auto &[held, context] : primaries_) {
    if (held == device) return context;
  }
  unsigned flags = 0;
  int active = 0;
  call(cu.cuDevicePrimaryCtxGetState, device, &flags, &active);
  if (!active) return nullptr;
  primaries_.reserve(primaries_.size() + 1);  // first, so that nothing can fail after the retain
  use_relaxed_mode();
  CUcontext context = nullptr;
  call(cu.cuDevicePrimaryCtxRetain, &context, device);
  primaries_.emplace_back(device, context);
  return context;
}

void Session::release_primaries() noexcept {
  for (const auto &[device, context] : primaries_) {
    (void)context;
    faults.attempt(cu.cuDevicePrimaryCtxRelease, device);
  }
  primaries_.clear();
}

Session::Within::Within(Session &session, CUcontext context)
    : session_(session), entered_(context), before_(session.current()) {
  call(session_.cu.cuCtxPushCurrent, context);
  session_.current_ = context;
}

Session::Within::~Within() {
  const Driver &driver = session_.cu;
  session_.current_ = before_;
  CUcontext popped = nullptr;
  if (session_.faults.attempt(driver.cuCtxPopCurrent, &popped)) return;
  // The failure is noted. It may be an older one that surfaced here although the context was
  // popped. So this checks: a second pop would take the caller's context.
  CUcontext top = nullptr;
  if (driver.cuCtxGetCurrent(&top) == success) {
    if (top == before_) return;
    if (top == entered_ && driver.cuCtxPopCurrent(&popped) == success) return;
  }
  (void)driver.cuCtxSetCurrent(before_);
}

}  // namespace cai::driver
