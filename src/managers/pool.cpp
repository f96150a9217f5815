// SPDX-License-Identifier: BSD-3-Clause
// The manager "pool": a pool of its own.
#include <algorithm>
#include <utility>

#include "device/primary.hpp"
#include "managers/builtin.hpp"
#include "managers/gpu.hpp"
#include "managers/params.hpp"

namespace cai::managers {
namespace {

using driver::CUmemoryPool;

class Pool : public Gpu {
 public:
  static constexpr const char *name = "pool";

  Pool(const void *params, cai_device device, const Manager *upstream)
      : Gpu(name, device, upstream), params_(read(params)) {
    require_pools();
    const driver::Driver &cu = driver::get();
    const bool exportable = params_.flags & CAI_POOL_EXPORTABLE;
    if (exportable) {
      const int types = attribute(driver::device_pool_handles);
      require(types & driver::pool_handle_descriptor,
              "pools that can be shared by a file descriptor");
    }
    driver::CUmemPoolProps properties{};
    properties.allocType = driver::allocation_pinned;
    properties.handleTypes = exportable ? driver::pool_handle_descriptor : 0;
    properties.location = {driver::location_device, handle()};
    properties.maxSize = params_.maximum;
    driver::call(cu.cuMemPoolCreate, &pool_, &properties);
    try {
      // The pool must be allowed to keep what it allocates initially.
      std::uint64_t threshold = std::max(params_.threshold, params_.initial);
      driver::call(cu.cuMemPoolSetAttribute, pool_, driver::pool_release_threshold, &threshold);
      if (params_.initial) take_initial(cu);
      if (params_.flags & CAI_POOL_INSTALL) install(cu);
    } catch (...) {
      cu.cuMemPoolDestroy(pool_);
      throw;
    }
  }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  ~Pool() {
    if (is_alive()) end();
  }

  // A reset destroys the context, which the pool would outlive.
  void end() noexcept {
    if (!pool_) return;
    const driver::Driver *cu = nullptr;
    try {
      cu = &driver::get();
    } catch (const Failure &) {
      return;  // in a forked process the pool belongs to the parent
    }
    driver::Faults faults;
    uninstall(*cu, faults);
    take_access_back(*cu, faults);
    faults.attempt(cu->cuMemPoolDestroy, std::exchange(pool_, nullptr));
  }

  cai_block memalloc(uint64_t size, uint64_t align, uint32_t kind, uint64_t stream) const {
    if (is_managed(kind)) return give_managed(size, align, kind, stream);
    return give_ordered(size, align, stream, pool_);
  }

  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): TableOf<Pool> calls this one
  void trim(uint64_t keep) const { trim_pool(driver::get(), pool_, keep); }

 private:
  static cai_pool_params read(const void *params) {
    const auto read = read_params<cai_pool_params>(params, name);
    constexpr uint32_t known = CAI_POOL_EXPORTABLE | CAI_POOL_INSTALL;
    if ((read.flags & ~known) || read.reserved) {
      throw Failure(CAI_ERR_VALUE, {},
                    "manager pool: params->flags is 0x%x, of which 0x%x are known, or reserved is "
                    "not 0",
                    read.flags, known);
    }
    if (read.maximum && read.initial > read.maximum) {
      throw Failure(CAI_ERR_VALUE, {}, "manager pool: params->initial is more than maximum");
    }
    return read;
  }

  // On a stream that is not being captured.
  void take_initial(const driver::Driver &cu) const {
    driver::Faults faults;
    {
      const driver::Relaxed relaxed(cu, faults);
      driver::CUstream stream = nullptr;
      driver::call(cu.cuStreamCreateWithPriority, &stream, driver::stream_non_blocking, 0);
      driver::CUdeviceptr address = 0;
      const driver::CUresult result =
          cu.cuMemAllocFromPoolAsync(&address, params_.initial, pool_, stream);
      if (result == driver::success) {
        faults.attempt(cu.cuMemFreeAsync, address, stream);
        faults.attempt(cu.cuStreamSynchronize, stream);
      }
      faults.attempt(cu.cuStreamDestroy, stream);
      if (result != driver::success) fail_allocation(cu.cuMemAllocFromPoolAsync.name, result);
    }
    faults.raise();
  }

  void install(const driver::Driver &cu) {
    driver::call(cu.cuDeviceGetMemPool, &before_, handle());
    driver::call(cu.cuDeviceSetMemPool, handle(), pool_);
  }

  // Does nothing if other code has installed another pool since.
  void uninstall(const driver::Driver &cu, driver::Faults &faults) const noexcept {
    CUmemoryPool now = nullptr;
    if (!before_ || !faults.attempt(cu.cuDeviceGetMemPool, &now, handle()) || now != pool_) return;
    if (cu.cuDeviceSetMemPool(handle(), before_) == driver::success) return;
    // The former pool was destroyed.
    CUmemoryPool first = nullptr;
    if (faults.attempt(cu.cuDeviceGetDefaultMemPool, &first, handle())) {
      faults.attempt(cu.cuDeviceSetMemPool, handle(), first);
    }
  }

  // The driver may reuse the object for another pool, which must not be accessible to the devices
  // of this one.
  void take_access_back(const driver::Driver &cu, driver::Faults &faults) const noexcept {
    int count = 0;
    if (!faults.attempt(cu.cuDeviceGetCount, &count)) return;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      driver::CUmemLocation location{driver::location_device, ordinal};
      driver::CUmemAccessDesc access{location, driver::access_none};
      if (ordinal == device().id ||
          cu.cuMemPoolGetAccess(&access.flags, pool_, &location) != driver::success ||
          access.flags == driver::access_none) {
        continue;
      }
      access.flags = driver::access_none;
      faults.attempt(cu.cuMemPoolSetAccess, pool_, &access, std::size_t{1});
    }
  }

  const cai_pool_params params_;
  CUmemoryPool pool_ = nullptr;
  CUmemoryPool before_ = nullptr;
};

}  // namespace

void end_pool(void *self) noexcept {
  static_cast<Pool *>(self)->end();
}

constinit const cai_manager_table pool_table = TableOf<Pool>::make();

}  // namespace cai::managers
