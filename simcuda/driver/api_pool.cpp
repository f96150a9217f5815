// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation and memory pools.

#include <algorithm>
#include <cstring>

#include "call.h"
#include "capture.h"
#include "pool.h"
#include "written.h"

using namespace simcuda;

namespace {

std::shared_ptr<Pool> pool_of(Session &s, CUmemoryPool handle) {
  auto pool = s.driver.pools.get(handle, CUDA_ERROR_INVALID_VALUE);
  refuse_lost(s.driver.device(pool->device));
  return pool;
}

Device &device_at(Session &s, const CUmemLocation &location) {
  // Places on the host came with CUDA 12.
  const int last = Settings::get().is_since(12000) ? CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
                                                   : CU_MEM_LOCATION_TYPE_DEVICE;
  if (location.type < CU_MEM_LOCATION_TYPE_DEVICE || location.type > last)
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  return s.driver.device(location.id);
}

void allocate_async(Session &s, CUdeviceptr *out, std::size_t bytes, std::shared_ptr<Pool> pool,
                    CUstream handle) {
  required(out);
  auto stream = s.stream(handle);
  if (!pool) pool = s.driver.device(stream->context->device).current_pool;
  if (pool->imported) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (stream->capture) {
    if (pool->managed) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    *out = capture_allocation(s, *stream, *pool, bytes);
    return;
  }
  refuse_implicit(*stream);
  auto operation = std::make_shared<Operation>();
  operation->what = "allocate";
  auto block = take_block(s.driver, *pool, *stream, bytes);
  try {
    if (block) discharge(s.driver, *block->allocation);
    make_room(s, *pool, bytes);
  } catch (const Refused &) {
    if (block) add_block(s.driver, *pool, std::move(*block));
    throw;
  }
  if (block) operation->merely_after.push_back(block->freed);
  const auto kind = pool->managed ? Allocation::Kind::managed : Allocation::Kind::device;
  const AllocationPtr allocation = block ? s.driver.memory.reuse(*block->allocation, bytes)
                                         : s.driver.memory.allocate(kind, pool->device, bytes, 0);
  allocation->pool = pool;
  charge(s.driver, *allocation);
  // The memory is the stream's from here on: what anybody wrote before is gone.
  Access whole{allocation, allocation->address, bytes, true};
  whole.life = Access::Life::begins;
  operation->accesses = {whole};
  operation->run = [allocation] {
    if (allocation->dead) return;
    std::memset(allocation->bytes, fresh_poison, allocation->size);
    if (allocation->written) allocation->written->clear();
  };
  s.submit(stream, std::move(operation));
  *out = allocation->address;
}

// Whether the pool keeps the address of what is freed in a stream.
bool hands_out_again(const Allocation &allocation) {
  return allocation.pool && !allocation.pool->destroyed && !allocation.imported;
}

std::uint64_t &counter(Pool &pool, int attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return pool.release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return pool.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return pool.used_high;
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
}

bool is_switch(int attribute) {
  return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
         attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace

SIM_API CUresult cuMemAllocAsync(CUdeviceptr *out, std::size_t bytes, CUstream stream) {
  return call(__func__, {out, bytes, stream},
              [&](Session &s) { allocate_async(s, out, bytes, nullptr, stream); });
}

SIM_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, std::size_t bytes, CUmemoryPool pool,
                                         CUstream stream) {
  return call(__func__, {out, bytes, pool, stream},
              [&](Session &s) { allocate_async(s, out, bytes, pool_of(s, pool), stream); });
}

SIM_API CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  return call(__func__, {pointer, handle}, [&](Session &s) {
    auto stream = s.stream(handle);
    auto allocation = s.driver.memory.find_base(pointer);
    const bool freeable =
        allocation && (allocation->kind == Allocation::Kind::device || allocation->pool);
    if (!freeable || allocation->free_submitted || allocation->is_opened_handle() ||
        allocation->of_module)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    refuse_lost(s.driver, *allocation);
    if (stream->capture) {
      capture_free(*stream, allocation);
      return;
    }
    refuse_implicit(*stream);
    if (allocation->of_graph) {
      free_graph_memory(s, stream, allocation);
      return;
    }
    allocation->free_submitted = true;
    Driver *driver = &s.driver;
    Access whole{allocation, allocation->address, allocation->size, true};
    whole.life = Access::Life::ends;
    auto freed = s.submit(
        stream, "free", {whole},
        [driver, allocation] {
          if (allocation->dead) return;  // its context went first
          discharge(*driver, *allocation);
          driver->memory.free(*allocation, hands_out_again(*allocation)
                                               ? Memory::Address::kept
                                               : Memory::Address::given_back);
        },
        true);
    if (hands_out_again(*allocation))
      add_block(s.driver, *allocation->pool, {allocation, freed, stream->id});
  });
}

SIM_API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties) {
  return call(__func__, {out, properties}, [&](Session &s) {
    required(out);
    const bool managed = required(properties).allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
    if (managed ? !Settings::get().is_since(13000) || properties->handleTypes
                : properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (properties->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    auto pool = std::make_shared<Pool>();
    const Device &device = device_at(s, properties->location);
    refuse_lost(device);
    pool->device = device.ordinal;
    pool->managed = managed;
    pool->handle_types = properties->handleTypes;
    pool->max_size = properties->maxSize;
    *out = s.driver.pools.add(pool);
  });
}

SIM_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    if (pool->is_default) throw Refused{CUDA_ERROR_INVALID_VALUE};
    // What was allocated from it lives on until it is freed.
    for (auto &device : s.driver.devices)
      if (device.current_pool == pool) device.current_pool = device.default_pool;
    s.driver.pools.remove(handle);
    drop_blocks(s.driver, *pool);
    pool->free_blocks.clear();  // what is being freed still will be
    pool->free_count = 0;
    pool->destroyed = true;
    pool->share = nullptr;
    trim(s.driver, *pool, 0);
  });
}

SIM_API CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void *value) {
  return call(__func__, {handle, attribute, value}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    if (!value) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (is_switch(attribute)) {
      pool->reuse[attribute] = *static_cast<int *>(value);
      return;
    }
    const std::uint64_t number = *static_cast<std::uint64_t *>(value);
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
      pool->release_threshold = number;
      s.driver.pools_to_trim.insert(pool);
    } else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && number == 0)
      pool->reserved_high = pool->reserved;
    else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH && number == 0)
      pool->used_high = pool->used;
    else
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  });
}

SIM_API CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void *value) {
  return call(__func__, {handle, attribute, value}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    if (!value) throw Refused{CUDA_ERROR_INVALID_VALUE};
    if (is_switch(attribute))
      *static_cast<int *>(value) = pool->reuse[attribute];
    else
      *static_cast<std::uint64_t *>(value) = counter(*pool, attribute);
  });
}

SIM_API CUresult cuMemPoolTrimTo(CUmemoryPool handle, std::size_t keep) {
  return call(__func__, {handle, keep}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    trim(s.driver, *pool, keep);
    drop_blocks(s.driver, *pool);  // what is given back to the device has no address any more
  });
}

SIM_API CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descriptions,
                                    std::size_t count) {
  return call(__func__, {handle, descriptions, count}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    for (std::size_t i = 0; i < count; ++i) {
      const Device &device = device_at(s, (&required(descriptions))[i].location);
      const int flags = descriptions[i].flags;
      if (device.ordinal == pool->device && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        throw Refused{CUDA_ERROR_INVALID_DEVICE};
      pool->access[device.ordinal] = flags;
    }
  });
}

SIM_API CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool handle, CUmemLocation *location) {
  return call(__func__, {flags, handle, location}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    const int ordinal = device_at(s, required(location)).ordinal;
    auto stated = pool->access.find(ordinal);
    const int otherwise = ordinal == pool->device ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    required(flags) = stated == pool->access.end() ? otherwise : stated->second;
  });
}

SIM_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device) {
  return call(__func__, {out, device},
              [&](Session &s) { required(out) = s.driver.device(device).default_pool->handle; });
}

SIM_API CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device) {
  return call(__func__, {out, device},
              [&](Session &s) { required(out) = s.driver.device(device).current_pool->handle; });
}

SIM_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return call(__func__, {device, handle}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    if (pool->device != s.driver.device(device).ordinal) throw Refused{CUDA_ERROR_INVALID_DEVICE};
    if (pool->managed || pool->imported) throw Refused{CUDA_ERROR_INVALID_VALUE};
    s.driver.device(device).current_pool = pool;
  });
}

SIM_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location, int type) {
  return call(__func__, {out, location, type}, [&](Session &s) {
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    required(out) = device_at(s, required(location)).default_pool->handle;
  });
}

SIM_API CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, int type) {
  return call(__func__, {out, location, type}, [&](Session &s) {
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    required(out) = device_at(s, required(location)).current_pool->handle;
  });
}

SIM_API CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool handle) {
  return call(__func__, {location, type, handle}, [&](Session &s) {
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    auto pool = pool_of(s, handle);
    Device &device = device_at(s, required(location));
    if (pool->device != device.ordinal) throw Refused{CUDA_ERROR_INVALID_DEVICE};
    if (pool->managed || pool->imported) throw Refused{CUDA_ERROR_INVALID_VALUE};
    device.current_pool = pool;
  });
}
