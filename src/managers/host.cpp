// SPDX-License-Identifier: BSD-3-Clause
#include "managers/host.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "core/error.hpp"
#include "core/report.hpp"
#include "device/device.hpp"
#include "device/pending.hpp"
#include "device/primary.hpp"
#include "managers/builtin.hpp"
#include "managers/params.hpp"

namespace cai::managers {
namespace {

uint64_t address_of(const void *pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
void *pointer_of(uint64_t address) noexcept {
  return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

cai_block heap_block(uint64_t size, uint64_t align) {
  void *const memory = heap_allocate(size, align);
  if (!memory) throw Failure(CAI_ERR_MEMORY, {}, "no host memory left");
  return {address_of(memory), address_of(memory), size, 0};
}

// The cookie of a block that the driver has pinned. Only memory of the heap has cookie 0.
struct Pinned {
  void *memory;  // as the driver returned it
  int32_t ordinal;
  std::uint64_t epoch;
};

uint64_t cookie_of(std::unique_ptr<Pinned> pinned) noexcept {
  return address_of(pinned.release());
}
Pinned *pinned_of(const cai_block &block) noexcept {
  return static_cast<Pinned *>(pointer_of(block.cookie));
}

// The GPU for which a device's host memory is pinned. Empty if there is no driver, or no GPU.
std::optional<int32_t> gpu_for(cai_device device) {
  if (device.type == CAI_DEVICE_CUDA) return device.id;
  try {
    driver::Session session;
    const std::optional<int32_t> current = device::current_gpu(session);
    return current || device::count_gpus(session.cu) == 0 ? current : 0;
  } catch (const Failure &failure) {
    if (failure.error().status == CAI_ERR_DRIVER) return std::nullopt;
    throw;
  }
}

// Runs `body(session, primary)` in the primary context of a GPU. What it does is not captured.
template <class Body>
void on_gpu(int32_t ordinal, Body &&body) {
  driver::Session session;
  const device::Primary primary = device::primary(session, ordinal);
  session.use_relaxed_mode();
  session.in(primary.context, [&] { body(session, primary); });
  session.finish();
}

void require_mapping(const driver::Session &session, driver::CUdevice device, int32_t ordinal) {
  int can = 0;
  driver::call(session.cu.cuDeviceGetAttribute, &can, driver::device_can_map_host, device);
  if (!can) {
    throw Failure(CAI_ERR_UNSUPPORTED, {}, "gpu:%d cannot access host memory directly",
                  static_cast<int>(ordinal));
  }
}

// The same for a body that makes a block. `undo` frees the block if the thread's state cannot be
// restored.
template <class Body>
void make_on_gpu(int32_t ordinal, cai_block &block, void (*undo)(const cai_block &), Body &&body) {
  try {
    on_gpu(ordinal, std::forward<Body>(body));
  } catch (...) {
    if (block.cookie) undo(block);
    throw;
  }
}

// The address by which kernels use host memory: usually the host's.
uint64_t device_address(const driver::Session &session, void *host, uint32_t kind) {
  driver::CUdeviceptr address = 0;
  if (kind == CAI_KIND_MAPPED) {
    driver::call(session.cu.cuMemHostGetDevicePointer, &address, host, 0U);
  } else if (session.cu.cuMemHostGetDevicePointer(&address, host, 0) != driver::success) {
    address = address_of(host);
  }
  return address;
}

cai_status free_pinned(void *context, cai_error *error) {
  return guard(error, [&] {
    const std::unique_ptr<Pinned> pinned(static_cast<Pinned *>(context));
    driver::call(driver::get().cuMemFreeHost, pinned->memory);
  });
}

void forget_pinned(void *context) {
  delete static_cast<Pinned *>(context);
}

std::uint32_t driver_flags(uint32_t kind, uint32_t flags) noexcept {
  return (kind == CAI_KIND_MAPPED ? driver::host_mapped : 0) |
         (flags & CAI_HOST_PORTABLE ? driver::host_portable : 0) |
         (flags & CAI_HOST_WRITE_COMBINED ? driver::host_write_combined : 0);
}

}  // namespace

void *heap_allocate(uint64_t size, uint64_t align) noexcept {
  if (size > PTRDIFF_MAX) return nullptr;
  void *memory = nullptr;
  const uint64_t least = std::max<uint64_t>(align, sizeof(void *));
  return posix_memalign(&memory, least, size) == 0 ? memory : nullptr;
}

cai_block host_allocate(cai_device device, uint64_t size, uint64_t align, uint32_t kind,
                        uint32_t flags) {
  if (kind == CAI_KIND_HOST) return heap_block(size, align);
  const std::optional<int32_t> ordinal = gpu_for(device);
  if (!ordinal) return heap_block(size, align);
  // The driver allocates whole pages. With a larger alignment the block begins within the
  // allocation.
  constexpr uint64_t page = 4096;
  uint64_t bytes = 0;
  if (__builtin_add_overflow(size, align > page ? align - page : 0, &bytes)) {
    throw Failure(CAI_ERR_MEMORY, {}, "the size in bytes overflows");
  }
  cai_block block{};
  make_on_gpu(*ordinal, block, host_free,
              [&](driver::Session &session, const device::Primary &primary) {
                if (kind == CAI_KIND_MAPPED) require_mapping(session, primary.device, *ordinal);
                auto pinned = std::make_unique<Pinned>(Pinned{nullptr, *ordinal, primary.epoch});
                const driver::CUresult result =
                    session.cu.cuMemHostAlloc(&pinned->memory, bytes, driver_flags(kind, flags));
                if (result != driver::success)
                  fail_allocation(session.cu.cuMemHostAlloc.name, result);
                const uint64_t skipped = -address_of(pinned->memory) & (align - 1);
                const uint64_t host = address_of(pinned->memory) + skipped;
                try {
                  block = {device_address(session, pinned->memory, kind) + skipped, host, size, 0};
                } catch (...) {
                  session.faults.attempt(session.cu.cuMemFreeHost, pinned->memory);
                  throw;
                }
                block.cookie = cookie_of(std::move(pinned));
              });
  return block;
}

void host_free(const cai_block &block) {
  Pinned *const pinned = pinned_of(block);
  if (!pinned) return std::free(pointer_of(block.host));
  // The driver waits for the device before it frees.
  device::pend({CAI_DEVICE_CUDA, pinned->ordinal},
               {free_pinned, pinned, block.size, pinned->epoch, forget_pinned});
}

bool make_room_for_host(cai_device device, uint32_t kind) noexcept {
  std::optional<int32_t> ordinal;
  if (kind != CAI_KIND_HOST) guard(nullptr, [&] { ordinal = gpu_for(device); });
  const bool has_room = device::make_room(device);
  const bool is_other = ordinal && device.type == CAI_DEVICE_CPU;
  return (is_other && device::make_room({CAI_DEVICE_CUDA, *ordinal})) || has_room;
}

cai_block host_pin(cai_device device, void *host, uint64_t size, uint32_t kind, uint32_t flags) {
  const int32_t ordinal = device.id;  // the CPU's own managers pin nothing
  cai_block block{};
  make_on_gpu(ordinal, block, host_unpin,
              [&](driver::Session &session, const device::Primary &primary) {
                if (kind == CAI_KIND_MAPPED) require_mapping(session, primary.device, ordinal);
                auto pinned = std::make_unique<Pinned>(Pinned{host, ordinal, primary.epoch});
                driver::call(session.cu.cuMemHostRegister, host, std::size_t{size},
                             driver_flags(kind, flags & CAI_HOST_PORTABLE));
                try {
                  block = {device_address(session, host, kind), address_of(host), size, 0};
                } catch (...) {
                  session.faults.attempt(session.cu.cuMemHostUnregister, host);
                  throw;
                }
                block.cookie = cookie_of(std::move(pinned));
              });
  return block;
}

void host_unpin(const cai_block &block) {
  std::unique_ptr<Pinned> pinned(pinned_of(block));
  if (!device::is_alive(pinned->ordinal, pinned->epoch)) return;  // it was freed with the context
  bool is_begun = false, is_unpinned = false;
  try {
    on_gpu(pinned->ordinal, [&](driver::Session &session, const device::Primary &) {
      is_begun = true;
      driver::call(session.cu.cuMemHostUnregister, pinned->memory);
      is_unpinned = true;
    });
  } catch (const Failure &failure) {
    if (!is_begun) {
      static_cast<void>(pinned.release());
      throw NotAsked(failure);
    }
    if (!is_unpinned) throw;
    report(failure.error());  // the caller's context or mode is not as before
  }
}

namespace {

// The manager "host": the heap, for the CPU.
struct Host {
  static constexpr const char *name = "host";

  Host(const void *params, cai_device device, const Manager *upstream) {
    require_no_params(params, name);
    require_no_upstream(upstream, name);
    if (device.type != CAI_DEVICE_CPU) {
      throw Failure(CAI_ERR_UNSUPPORTED, {}, "manager host is for the CPU, and not for %s",
                    device::Text(device).text);
    }
  }
  static cai_block memalloc(uint64_t size, uint64_t align, uint32_t, uint64_t) {
    return heap_block(size, align);
  }
  static void memfree(const cai_block &block, uint64_t) { std::free(pointer_of(block.host)); }
};

}  // namespace

constinit const cai_manager_table host_table = TableOf<Host>::make();

}  // namespace cai::managers
