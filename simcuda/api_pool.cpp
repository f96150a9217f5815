// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered allocation and memory pools.

#include <algorithm>
#include <cstring>

#include "call.h"
#include "capture.h"

namespace simcuda {
namespace {

constexpr std::uint64_t chunk = 2u
                                << 20;  // pools take memory from the device in pieces of this size

std::uint64_t whole_chunks(std::uint64_t bytes) {
  return (bytes + chunk - 1) / chunk * chunk;
}

}  // namespace

void Pool::took(std::size_t bytes) {
  used += bytes;
  used_high = std::max(used_high, used);
  reserved = std::max(reserved, whole_chunks(used));
  reserved_high = std::max(reserved_high, reserved);
}

void Pool::gave_back(std::size_t bytes) {
  used -= bytes;
  trim(release_threshold);
}

void Pool::trim(std::uint64_t keep) {
  reserved = std::max(whole_chunks(used), std::min(reserved, keep));
}

}  // namespace simcuda

using namespace simcuda;

namespace {

std::shared_ptr<Pool> pool_of(Session &s, CUmemoryPool handle) {
  return s.driver.pools.get(handle, CUDA_ERROR_INVALID_VALUE);
}

Device &device_at(Session &s, const CUmemLocation &location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  return s.driver.device(location.id);
}

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = 4096;
  return (bytes + page - 1) / page * page;
}

// Memory of the pool that work of this stream may have: freed in the same stream, or by what this
// stream comes after, or by now; else, for an edge that orders this block alone, by anything.
struct Reusable {
  std::vector<Pool::FreeBlock>::iterator block;
  bool needs_edge;
};

Reusable find_block(Session &s, Pool &pool, Stream &stream, std::size_t bytes) {
  auto &blocks = pool.free_blocks;
  Reusable best{blocks.end(), false};
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    if (whole_pages(block->size) != whole_pages(bytes)) continue;
    const bool done = block->freed->state == Operation::State::done;
    const bool ordered = block->stream == stream.id ||
                         (done ? pool.reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] != 0
                               : pool.reuse[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] &&
                                     s.driver.schedule.comes_after(stream, block->freed));
    if (ordered) return {block, false};
    if (pool.reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES]) best = {block, true};
  }
  return best;
}

void allocate_async(Session &s, CUdeviceptr *out, std::size_t bytes, std::shared_ptr<Pool> pool,
                    CUstream handle) {
  required(out);
  auto stream = s.stream(handle);
  if (!bytes) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!pool) pool = s.driver.device(stream->context->device).current_pool;
  if (stream->capture) {
    *out = capture_allocation(s, *stream, pool->device, bytes);
    return;
  }
  refuse_implicit(*stream);
  Device &device = s.driver.device(pool->device);
  const bool pool_full = pool->max_size && bytes > pool->max_size - std::min<std::uint64_t>(
                                                                        pool->used, pool->max_size);
  if (bytes > device.total - device.used || pool_full) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
  auto operation = std::make_shared<Operation>();
  operation->what = "allocate";
  AllocationPtr allocation;
  const auto [block, needs_edge] = find_block(s, *pool, *stream, bytes);
  if (block == pool->free_blocks.end()) {
    allocation = s.driver.memory.allocate(Allocation::Kind::device, pool->device, bytes, 0);
  } else {
    allocation = s.driver.memory.reuse(block->address, block->bytes, pool->device, bytes);
    if (needs_edge) operation->merely_after.push_back(block->freed);
    pool->free_blocks.erase(block);
  }
  allocation->pool = pool;
  device.used += bytes;
  pool->took(bytes);
  // The memory is the stream's from here on: what anybody wrote before is gone.
  Access whole{allocation, allocation->address, bytes, true};
  whole.life = Access::Life::begins;
  operation->accesses = {whole};
  operation->run = [allocation] {
    if (!allocation->dead) std::memset(allocation->bytes, fresh_poison, allocation->size);
  };
  s.submit(stream, std::move(operation));
  *out = allocation->address;
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
    if (!allocation || allocation->kind != Allocation::Kind::device || allocation->free_submitted)
      throw Refused{CUDA_ERROR_INVALID_VALUE};
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
          driver->device(allocation->device).used -= allocation->size;
          if (allocation->pool) allocation->pool->gave_back(allocation->size);
          driver->memory.free(*allocation);
        },
        true);
    if (allocation->pool)
      allocation->pool->free_blocks.push_back(
          {allocation->address, allocation->bytes, allocation->size, stream->id, freed});
  });
}

SIM_API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties) {
  return call(__func__, {out, properties}, [&](Session &s) {
    required(out);
    Device &device = device_at(s, required(properties).location);
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
      throw Refused{CUDA_ERROR_NOT_SUPPORTED};
    auto pool = std::make_shared<Pool>();
    pool->device = device.ordinal;
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
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
      pool->release_threshold = number;
    else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && number == 0)
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
    pool->trim(keep);
    // What is given back to the device has no address any more.
    std::erase_if(pool->free_blocks,
                  [](auto &block) { return block.freed->state == Operation::State::done; });
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
    device.current_pool = pool;
  });
}
