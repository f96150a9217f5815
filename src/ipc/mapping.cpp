// SPDX-License-Identifier: BSD-3-Clause
#include "ipc/mapping.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "core/immortal.hpp"
#include "device/primary.hpp"
#include "managers/manager.hpp"

namespace cai::ipc {

// A pool of another process, imported once for all its open memory. It belongs to no context, nor
// does its memory.
struct ImportedPool {
  uint64_t process, process_start, id;
  int32_t device;
  driver::CUmemoryPool handle;
};

struct Mapping {
  MappingKey key;
  uint64_t epoch;
  driver::CUdeviceptr address;
  uint64_t size;
  std::shared_ptr<ImportedPool> pool;
  uint64_t shares;

  // Whether it ended with a context.
  bool has_ended() const noexcept { return !pool && !device::is_alive(key.device, epoch); }
};

namespace {

// The lock is held only during driver calls: no thread may open what another one is about to close,
// or open it twice. A forked child, which has no driver, never takes it.
struct Mappings {
  std::mutex mutex;
  std::vector<Mapping *> all;
};

Mappings &mappings() {
  return immortal<Mappings>();
}

void destroy_pool(ImportedPool *pool) noexcept {
  static_cast<void>(driver::get().cuMemPoolDestroy(pool->handle));
  delete pool;
}

std::shared_ptr<ImportedPool> find_pool(const Mappings &mappings, const MappingKey &key) {
  for (const Mapping *const other : mappings.all) {
    if (other->pool && other->key.device == key.device && other->key.process == key.process &&
        other->key.process_start == key.process_start && other->key.pool == key.pool) {
      return other->pool;
    }
  }
  return nullptr;
}

// Lets a device access memory imported from a pool, which may be another device's: the driver knows
// whose it is, and the handle may say anything.
void let_use(const driver::Driver &cu, const ImportedPool &pool, int32_t device) {
  driver::CUmemAccessDesc access{{driver::location_device, 0}, 0};
  driver::call(cu.cuDeviceGet, &access.location.id, device);
  driver::call(cu.cuMemPoolGetAccess, &access.flags, pool.handle, &access.location);
  if (access.flags == driver::access_read_write) return;
  access.flags = driver::access_read_write;
  driver::call(cu.cuMemPoolSetAccess, pool.handle, &access, std::size_t{1});
}

std::shared_ptr<ImportedPool> import_pool(const driver::Driver &cu, const MappingKey &key,
                                          int32_t fd) {
  auto made = std::make_unique<ImportedPool>(
      ImportedPool{key.process, key.process_start, key.pool, key.device, nullptr});
  void *const descriptor = reinterpret_cast<void *>(static_cast<intptr_t>(fd));
  try {
    driver::call(cu.cuMemPoolImportFromShareableHandle, &made->handle, descriptor,
                 driver::pool_handle_descriptor, 0ULL);
  } catch (const Failure &failure) {
    const cai_error &error = failure.error();
    throw Failure(error.status, {error.entry, error.index, error.native},
                  "fd %d is of no memory pool that can be imported: %s", fd, error.message);
  }
  std::shared_ptr<ImportedPool> pool(made.release(), destroy_pool);
  let_use(cu, *pool, key.device);
  return pool;
}

// The driver maps a pool's memory once, and one free unmaps it for all: for other devices, too, and
// for handles that name the pool differently. A handle may contain anything.
Mapping *find_imported(const Mappings &mappings, driver::CUdeviceptr address) {
  for (Mapping *const other : mappings.all) {
    if (other->pool && other->address == address) return other;
  }
  return nullptr;
}

// The number of bytes that the driver has mapped from an address on.
uint64_t mapped_after(const driver::Driver &cu, driver::CUdeviceptr address) {
  driver::CUdeviceptr base = 0;
  std::size_t size = 0;
  driver::call(cu.cuMemGetAddressRange, &base, &size, address);
  return size - (address - base);
}

}  // namespace

Mapping *open_mapping(driver::Session &session, const MappingKey &key, int32_t fd, uint64_t epoch) {
  session.use_relaxed_mode();
  Mappings &known = mappings();
  const std::lock_guard lock(known.mutex);
  for (Mapping *const mapping : known.all) {
    if (mapping->key != key || (!mapping->pool && mapping->epoch != epoch)) continue;
    ++mapping->shares;
    return mapping;
  }
  auto made = std::make_unique<Mapping>(Mapping{key, epoch, 0, 0, nullptr, 1});
  known.all.reserve(known.all.size() + 1);  // before opening, so that nothing can fail after it
  if (key.kind == CAI_IPC_LEGACY) {
    driver::CUipcMemHandle handle;
    std::memcpy(handle.reserved, key.data, sizeof handle.reserved);
    driver::call(session.cu.cuIpcOpenMemHandle, &made->address, handle,
                 driver::ipc_lazy_peer_access);
  } else {
    made->pool = find_pool(known, key);
    if (!made->pool) made->pool = import_pool(session.cu, key, fd);
    driver::CUmemPoolPtrExportData data;
    std::memcpy(data.reserved, key.data, sizeof data.reserved);
    driver::call(session.cu.cuMemPoolImportPointer, &made->address, made->pool->handle, &data);
    if (Mapping *const mapping = find_imported(known, made->address)) {
      let_use(session.cu, *mapping->pool, key.device);
      ++mapping->shares;
      return mapping;
    }
  }
  try {
    made->size = mapped_after(session.cu, made->address);
  } catch (...) {
    session.faults.attempt(made->pool ? session.cu.cuMemFree : session.cu.cuIpcCloseMemHandle,
                           made->address);
    throw;
  }
  known.all.push_back(made.get());
  return made.release();
}

uint64_t address_of(const Mapping &mapping) noexcept {
  return mapping.address;
}

uint64_t size_of(const Mapping &mapping) noexcept {
  return mapping.size;
}

bool outlives_contexts(const Mapping &mapping) noexcept {
  return mapping.pool != nullptr;
}

void close_mapping(Mapping *mapping, int32_t device) {
  Mappings &known = mappings();
  const std::lock_guard lock(known.mutex);
  if (mapping->shares > 1) {
    --mapping->shares;
    return;
  }
  std::unique_ptr<Mapping> closed;
  const auto take = [&] {
    std::erase(known.all, mapping);
    closed.reset(mapping);
  };
  if (mapping->has_ended()) return take();
  try {
    driver::Session session;
    session.use_relaxed_mode();
    session.in(device::primary(session, device).context, [&] {
      take();
      if (mapping->pool) {
        driver::call(session.cu.cuMemFree, mapping->address);
        closed->pool.reset();
      } else {
        driver::call(session.cu.cuIpcCloseMemHandle, mapping->address);
      }
    });
    session.finish();
  } catch (const Failure &failure) {
    if (!closed) throw managers::NotAsked(failure);
    throw;
  }
}

}  // namespace cai::ipc
