// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/report.hpp"
#include "device/pending.hpp"
#include "device/primary.hpp"
#include "managers/builtin.hpp"
#include "managers/gpu.hpp"
#include "managers/params.hpp"
#include "order/event.hpp"

namespace cai::managers {
namespace {

using driver::CUdeviceptr;

constexpr uint64_t granularity = 256;  // every allocation of the driver is aligned to this

// A block's cookie: the driver's address and the source.
struct Given {
  CUdeviceptr address;
  Gpu::Source source;

  explicit Given(const cai_block &block) noexcept
      : address(block.cookie & ~(granularity - 1)),
        source(static_cast<Gpu::Source>(block.cookie & (granularity - 1))) {}
};

uint64_t with_room_to_align(uint64_t size, uint64_t align) {
  uint64_t bytes = 0;
  if (__builtin_add_overflow(size, align > granularity ? align - granularity : 0, &bytes)) {
    throw Failure(CAI_ERR_MEMORY, {}, "the size in bytes overflows");
  }
  return bytes;
}

cai_block block_at(CUdeviceptr address, uint64_t size, uint64_t align,
                   Gpu::Source source) noexcept {
  const uint64_t data = (address + align - 1) & ~(align - 1);
  return {data, source == Gpu::managed ? data : 0, size, address | source};
}

// Runs `body`, which frees memory. If the driver fails, runs it once more: the failure may be one
// of earlier work, which the driver reports once.
template <class Body>
auto persist(Body &&body) {
  try {
    return body();
  } catch (const Failure &failure) {
    if (failure.error().status != CAI_ERR_CUDA) throw;
    report(failure.error());
  }
  return body();
}

// Allocates by calls that a capture elsewhere would forbid. `free` undoes it.
template <class Allocate, class Free>
CUdeviceptr relaxed(const driver::Driver &cu, Allocate &&allocate, Free &&free) {
  driver::Faults faults;
  CUdeviceptr address = 0;
  {
    const driver::Relaxed relaxed(cu, faults);
    address = allocate(faults);
  }
  if (faults.any()) {
    driver::Faults more;
    const driver::Relaxed once_more(cu, more);
    free(address);
  }
  faults.raise();
  return address;
}

template <class Allocate>
CUdeviceptr relaxed(const driver::Driver &cu, Allocate &&allocate) {
  return relaxed(cu, std::forward<Allocate>(allocate),
                 [&](CUdeviceptr address) { cu.cuMemFree(address); });
}

// ---- Plain and managed memory -------------------------------------------------------------------

cai_status free_address(void *context, cai_error *error) {
  return guard(error, [&] {
    driver::call(driver::get().cuMemFree,
                 static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(context)));
  });
}

// Another thread may capture the stream as soon as it has been asked. The capture is not harmed,
// but the driver refuses the free.
void free_outside_captures(const driver::Driver &cu, CUdeviceptr address, uint64_t stream) {
  driver::CUresult result = driver::error_invalid_value;
  for (int i = 0; i < 10 && result == driver::error_invalid_value; ++i) {
    if (i > 0) require_uncaptured(cu, stream, why_no_free);
    result = cu.cuMemFreeAsync(address, driver::stream_handle(stream));
  }
  if (result != driver::success) driver::fail_call(cu.cuMemFreeAsync.name, result);
}

// A capture elsewhere would forbid this, too.
void free_in_order(const driver::Driver &cu, CUdeviceptr address, uint64_t stream) {
  driver::Faults faults;
  {
    std::optional<driver::Relaxed> relaxed;
    persist([&] { relaxed.emplace(cu, faults); });
    free_outside_captures(cu, address, stream);
  }
  if (const cai_error *error = faults.first()) report(*error);  // the memory is freed all the same
}

// An event after the work on a stream. Empty in a capture: that work has not been submitted, so
// there is nothing to wait for. Empty without memory for an event, too: then the host has waited.
order::Event event_after(uint64_t stream) {
  driver::Session session;
  order::Event after;
  if (!driver::capture_of(session.cu, stream)) {
    try {
      order::Stream on = order::stream_here(session, stream);
      after = order::Event::record_unless_captured(session, on);
    } catch (const std::bad_alloc &) {
      session.use_relaxed_mode();
      driver::call(session.cu.cuStreamSynchronize, driver::stream_handle(stream));
    }
  }
  session.finish();
  return after;
}

// A missing event must not leak the memory. The driver waits for the device before it frees,
// although it does not promise to.
order::Event event_if_any(uint64_t stream) {
  try {
    return persist([&] { return event_after(stream); });
  } catch (const Failure &failure) {
    if (failure.error().status != CAI_ERR_CAPTURE) report(failure.error());
    return {};
  }
}

void free_later(cai_device device, uint64_t epoch, CUdeviceptr address, uint64_t size,
                uint64_t stream) {
  device::look_at_pending(device, stream);
  device::pend(device, {free_address, reinterpret_cast<void *>(static_cast<uintptr_t>(address)),
                        size, epoch, nullptr, event_if_any(stream)});
}

CUdeviceptr allocate_plain(const driver::Driver &cu, uint64_t bytes) {
  return relaxed(cu, [&](driver::Faults &) {
    CUdeviceptr address = 0;
    if (const auto result = cu.cuMemAlloc(&address, bytes)) {
      fail_allocation(cu.cuMemAlloc.name, result);
    }
    return address;
  });
}

CUdeviceptr allocate_managed(const driver::Driver &cu, uint64_t bytes, bool global,
                             uint64_t stream) {
  // Memory cannot be attached to a default stream alone.
  const bool attach = !global && stream > driver::stream_per_thread;
  if (attach) require_uncaptured(cu, stream, "managed memory cannot be attached to it");
  return relaxed(cu, [&](driver::Faults &faults) {
    CUdeviceptr address = 0;
    if (const auto result = cu.cuMemAllocManaged(
            &address, bytes, attach ? driver::attach_host : driver::attach_global)) {
      fail_allocation(cu.cuMemAllocManaged.name, result);
    }
    if (!attach) return address;
    if (const auto result = cu.cuStreamAttachMemAsync(driver::stream_handle(stream), address, 0,
                                                      driver::attach_single)) {
      faults.attempt(cu.cuMemFree, address);
      throw Failure(driver::failure_of(cu.cuStreamAttachMemAsync.name, result));
    }
    return address;
  });
}

}  // namespace

void require_uncaptured(const driver::Driver &cu, uint64_t stream, const char *why) {
  if (!driver::capture_of(cu, stream)) return;
  throw Failure(CAI_ERR_CAPTURE, {CAI_ENTRY_STREAM, -1, 0},
                "stream 0x%llx is being captured into a graph, and %s",
                static_cast<unsigned long long>(stream), why);
}

Gpu::Gpu(const char *name, cai_device device, const Manager *upstream) : device_(device) {
  require_no_upstream(upstream, name);
  if (device.type != CAI_DEVICE_CUDA) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "manager %s is for GPUs, and not for %s", name,
                  device::Text(device).text);
  }
  device::require_pending_limits();
  driver::Session session;
  const device::Primary primary = device::primary(session, device.id);
  session.finish();
  handle_ = primary.device;
  epoch_ = primary.epoch;
  has_pools_ = attribute(driver::device_pools) != 0;
  has_managed_ = attribute(driver::device_managed_memory) != 0;
}

bool Gpu::is_alive() const noexcept {
  return device::is_alive(device_.id, epoch_);
}

int Gpu::attribute(driver::CUdevice_attribute which) const {
  int value = 0;
  driver::call(driver::get().cuDeviceGetAttribute, &value, which, handle_);
  return value;
}

void Gpu::require(bool there, const char *what) const {
  if (there) return;
  throw Failure(CAI_ERR_UNSUPPORTED, {}, "%s has no %s", device::Text(device_).text, what);
}

cai_block Gpu::give_plain(uint64_t size, uint64_t align) const {
  const CUdeviceptr address = allocate_plain(driver::get(), with_room_to_align(size, align));
  return block_at(address, size, align, plain);
}

cai_block Gpu::give_managed(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const {
  require_managed();
  const CUdeviceptr address = allocate_managed(driver::get(), with_room_to_align(size, align),
                                               kind != CAI_KIND_MANAGED, stream);
  return block_at(address, size, align, managed);
}

cai_block Gpu::give_ordered(uint64_t size, uint64_t align, uint64_t stream,
                            driver::CUmemoryPool pool) const {
  require_pools();
  const driver::Driver &cu = driver::get();
  require_uncaptured(cu, stream, why_no_alloc);
  const uint64_t bytes = with_room_to_align(size, align);
  const driver::CUstream on = driver::stream_handle(stream);
  const auto allocate = [&](driver::Faults &) {
    CUdeviceptr address = 0;
    if (pool) {
      if (const auto result = cu.cuMemAllocFromPoolAsync(&address, bytes, pool, on)) {
        fail_allocation(cu.cuMemAllocFromPoolAsync.name, result);
      }
    } else if (const auto result = cu.cuMemAllocAsync(&address, bytes, on)) {
      fail_allocation(cu.cuMemAllocAsync.name, result);
    }
    return address;
  };
  const auto free = [&](CUdeviceptr address) { cu.cuMemFreeAsync(address, on); };
  return block_at(relaxed(cu, allocate, free), size, align, ordered);
}

void Gpu::memfree(const cai_block &block, uint64_t stream) const {
  const driver::Driver &cu = driver::get();
  const Given given(block);
  switch (given.source) {
    case plain:
    case managed:
      return free_later(device_, epoch_, given.address, block.size, stream);
    case ordered:
      persist([&] { require_uncaptured(cu, stream, why_no_free); });
      return free_in_order(cu, given.address, stream);
  }
  throw Failure(CAI_ERR_VALUE, {}, "block->cookie is not of this manager");
}

void trim_pool(const driver::Driver &cu, driver::CUmemoryPool pool, uint64_t keep) {
  driver::Faults faults;
  {
    const driver::Relaxed relaxed(cu, faults);  // a capture elsewhere might forbid it
    driver::call(cu.cuMemPoolTrimTo, pool, std::size_t{keep});
  }
  faults.raise();
}

void Gpu::trim(uint64_t keep) const {
  if (!has_pools_) return;
  const driver::Driver &cu = driver::get();
  driver::CUmemoryPool pool = nullptr;
  driver::call(cu.cuDeviceGetMemPool, &pool, handle_);
  trim_pool(cu, pool, keep);
}

// ---- The managers -------------------------------------------------------------------------------

namespace {

struct Default : Gpu {
  static constexpr const char *name = "default";
  Default(const void *params, cai_device device, const Manager *upstream)
      : Gpu(name, device, upstream) {
    require_no_params(params, name);
  }
  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const {
    if (is_managed(kind)) return give_managed(size, align, kind, stream);
    if (kind == CAI_KIND_ASYNC) return give_ordered(size, align, stream);
    return give_plain(size, align);
  }
};

struct Async : Gpu {
  static constexpr const char *name = "async";
  Async(const void *params, cai_device device, const Manager *upstream)
      : Gpu(name, device, upstream) {
    require_no_params(params, name);
    require_pools();
  }
  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const {
    if (is_managed(kind)) return give_managed(size, align, kind, stream);
    return give_ordered(size, align, stream);
  }
};

struct Managed : Gpu {
  static constexpr const char *name = "managed";
  Managed(const void *params, cai_device device, const Manager *upstream)
      : Gpu(name, device, upstream) {
    require_no_params(params, name);
    require_managed();
  }
  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const {
    return give_managed(size, align, kind, stream);
  }
};

}  // namespace

constinit const cai_manager_table default_table = TableOf<Default>::make();
constinit const cai_manager_table async_table = TableOf<Async>::make();
constinit const cai_manager_table managed_table = TableOf<Managed>::make();

}  // namespace cai::managers
