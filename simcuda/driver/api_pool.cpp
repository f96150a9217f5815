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

bool is_on_host(const CUmemLocation &location) {
  return location.type >= CU_MEM_LOCATION_TYPE_HOST &&
         location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// Host locations, of which there is one, came with CUDA 12.
void check_place(Session &s, const CUmemLocation &location,
                 CUresult if_no_place = CUDA_ERROR_INVALID_VALUE) {
  if (is_on_host(location) && Settings::get().is_since(12000)) {
    if (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id != 0)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    return;
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) throw Refused{if_no_place};
  s.driver.device(location.id);
}

// The pools of a location from which memory of a type is allocated.
std::pair<std::shared_ptr<Pool> &, std::shared_ptr<Pool> &> pools_at(Session &s,
                                                                     CUmemLocation location,
                                                                     int type) {
  const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed) throw Refused{CUDA_ERROR_INVALID_VALUE};
  // Managed memory need not prefer any location.
  const bool nowhere = location.type == CU_MEM_LOCATION_TYPE_INVALID;
  if (nowhere && !managed) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!nowhere) check_place(s, location, CUDA_ERROR_NOT_SUPPORTED);
  if (!managed && !is_on_host(location)) {
    Device &device = s.driver.device(location.id);
    return {device.default_pool, device.current_pool};
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) location.id = 0;
  auto &[standard, current] = s.driver.other_pools[{type, location.type, location.id}];
  if (!standard) {
    standard = current = std::make_shared<Pool>();
    standard->device = location.id;
    standard->kind = managed ? MemoryKind::managed : MemoryKind::host;
    standard->is_default = true;
    s.driver.pools.add(standard);
  }
  return {standard, current};
}

void set_pool(Session &s, const CUmemLocation &location, int type, CUmemoryPool handle) {
  auto pool = pool_of(s, handle);
  auto pools = pools_at(s, location, type);
  if (pool->kind != pools.first->kind || pool->imported) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (pool->device != pools.first->device) throw Refused{CUDA_ERROR_INVALID_DEVICE};
  pools.second = pool;
}

void allocate_async(Session &s, CUdeviceptr *out, std::size_t bytes, std::shared_ptr<Pool> pool,
                    CUstream handle) {
  required(out) = 0;  // kept if there is no room
  auto stream = s.stream(handle);
  if (!pool) pool = s.driver.device(stream->context->device).current_pool;
  if (pool->imported) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!bytes) return;  // it is at 0, and can be freed there
  if (stream->capture) {
    *out = capture_allocation(s, *stream, *pool, bytes);
    return;
  }
  refuse_implicit(*stream);
  refuse_unsafe(s);
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
  const AllocationPtr allocation =
      block ? s.driver.memory.reuse(*block->allocation, bytes)
            : s.driver.memory.allocate(pool->kind, pool->device, bytes, 0);
  allocation->pool = pool;
  charge(s.driver, *allocation);
  // The memory belongs to the stream from here on: earlier writes no longer count.
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

// Whether the pool keeps the address of memory that a stream frees.
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
    if (!pointer) return;
    auto allocation = s.driver.memory.find_base(pointer);
    const bool freeable =
        allocation && !allocation->mapping &&
        (allocation->kind == Allocation::Kind::device || allocation->pool || allocation->of_graph);
    if (!freeable || allocation->free_submitted || allocation->is_opened_handle() ||
        allocation->of_module)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    refuse_lost(s.driver, *allocation);
    if (stream->capture) {
      capture_free(*stream, allocation);
      return;
    }
    refuse_implicit(*stream);
    refuse_unsafe(s);
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
          if (allocation->dead) return;  // its context was destroyed first
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
      throw Refused{CUDA_ERROR_INVALID_VALUE};
    const CUmemLocation &location = properties->location;
    const bool nowhere = managed && location.type == CU_MEM_LOCATION_TYPE_INVALID;
    if (!nowhere) check_place(s, location);
    auto pool = std::make_shared<Pool>();
    pool->device = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : 0;
    refuse_lost(s.driver.device(pool->device));
    if (managed || is_on_host(location))
      pool->kind = managed ? MemoryKind::managed : MemoryKind::host;
    if (pool->kind != MemoryKind::device && properties->handleTypes)
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    pool->handle_types = properties->handleTypes;
    pool->max_size = in_chunks(properties->maxSize, 32u << 20);  // as an H200 counts
    *out = s.driver.pools.add(pool);
  });
}

SIM_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return call(__func__, {handle}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    if (pool->is_default) throw Refused{CUDA_ERROR_INVALID_VALUE};
    // Memory allocated from it stays until it is freed.
    for (auto &device : s.driver.devices)
      if (device.current_pool == pool) device.current_pool = device.default_pool;
    for (auto &[place, pools] : s.driver.other_pools)
      if (pools.second == pool) pools.second = pools.first;
    s.driver.pools.remove(handle);
    drop_blocks(s.driver, *pool);
    pool->free_blocks.clear();  // pending frees will do it
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
    drop_blocks(s.driver, *pool);  // memory returned to the device has no address any more
  });
}

SIM_API CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descriptions,
                                    std::size_t count) {
  return call(__func__, {handle, descriptions, count}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    for (std::size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc &access = (&required(descriptions))[i];
      check_place(s, access.location);
      if (is_on_host(access.location)) {
        if (pool->kind == MemoryKind::device) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
        continue;
      }
      const int device = access.location.id;
      if (pool->kind == MemoryKind::device && device == pool->device &&
          access.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        throw Refused{CUDA_ERROR_INVALID_DEVICE};
      pool->access[device] = access.flags;
    }
  });
}

SIM_API CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool handle, CUmemLocation *location) {
  return call(__func__, {flags, handle, location}, [&](Session &s) {
    auto pool = pool_of(s, handle);
    check_place(s, required(location));
    const bool accessible = is_on_host(*location) ? pool->kind != MemoryKind::device
                                                  : is_accessible(*pool, location->id);
    required(flags) =
        accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
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
    set_pool(s, {CU_MEM_LOCATION_TYPE_DEVICE, s.driver.device(device).ordinal},
             CU_MEM_ALLOCATION_TYPE_PINNED, handle);
  });
}

SIM_API CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location, int type) {
  return call(__func__, {out, location, type}, [&](Session &s) {
    required(out) = pools_at(s, required(location), type).first->handle;
  });
}

SIM_API CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, int type) {
  return call(__func__, {out, location, type}, [&](Session &s) {
    required(out) = pools_at(s, required(location), type).second->handle;
  });
}

SIM_API CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool handle) {
  return call(__func__, {location, type, handle},
              [&](Session &s) { set_pool(s, required(location), type, handle); });
}
