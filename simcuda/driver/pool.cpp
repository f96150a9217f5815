// SPDX-License-Identifier: BSD-3-Clause
#include "pool.h"

#include <algorithm>
#include <utility>

namespace simcuda {
namespace {

// Pools take memory from the device in pieces of this size.
constexpr std::uint64_t chunk = 2u << 20;

std::uint64_t whole_chunks(std::uint64_t bytes) {
  return (bytes + chunk - 1) / chunk * chunk;
}

std::size_t pages(std::size_t bytes) {
  constexpr std::size_t page_size = 4096;
  return (bytes + page_size - 1) / page_size;
}

bool has_gone(const FreeBlock &block) {
  return block.freed->state == Operation::State::done;
}

void reserve(Driver &driver, Pool &pool, std::uint64_t bytes) {
  if (!pool.managed) {
    Device &device = driver.device(pool.device);
    device.used = device.used - pool.reserved + bytes;
  }
  pool.reserved = bytes;
  pool.reserved_high = std::max(pool.reserved_high, bytes);
}

// What the pool would have to take from the device.
std::uint64_t lacking(const Pool &pool, std::size_t bytes) {
  const std::uint64_t wanted = whole_chunks(pool.used + bytes);
  return wanted > pool.reserved ? wanted - pool.reserved : 0;
}

void do_frees(Session &session, int device) {
  Driver &driver = session.driver;
  std::vector<OperationPtr> frees;
  for (auto &pool : driver.pools.all()) {
    if (pool->device != device) continue;
    for (auto &[size, streams] : pool->free_blocks)
      for (auto &[stream, blocks] : streams)
        for (auto &block : blocks)
          if (!has_gone(block)) frees.push_back(block.freed);
  }
  driver.schedule.demand(frees);
  driver.schedule.settle(session.lock);
  for (auto &pool : driver.pools.all())
    if (pool->device == device) trim(driver, *pool, 0);
}

}  // namespace

bool is_accessible(const Pool &pool, int device) {
  if (pool.managed || pool.device == device) return true;
  auto stated = pool.access.find(device);
  return stated != pool.access.end() && stated->second == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

void refuse_inaccessible(const Allocation &allocation, int device) {
  if (allocation.pool && !is_accessible(*allocation.pool, device))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void charge(Driver &driver, Allocation &allocation) {
  allocation.charged = allocation.size;
  if (Pool *pool = allocation.pool.get()) {
    pool->used += allocation.charged;
    pool->used_high = std::max(pool->used_high, pool->used);
    reserve(driver, *pool, std::max(pool->reserved, whole_chunks(pool->used)));
  } else {
    driver.device(allocation.device).used += allocation.charged;
  }
}

void discharge(Driver &driver, Allocation &allocation) {
  const std::uint64_t bytes = allocation.charged;
  allocation.charged = 0;
  if (!bytes) return;
  if (Pool *pool = allocation.pool.get()) {
    pool->used -= bytes;
    if (pool->destroyed) return trim(driver, *pool, 0);
    driver.pools_to_trim.insert(allocation.pool);
  } else {
    driver.device(allocation.device).used -= bytes;
  }
}

void make_room(Session &session, Device &device, std::size_t bytes) {
  if (bytes <= device.total - device.used) return;
  do_frees(session, device.ordinal);
  if (bytes > device.total - device.used) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
}

void make_room(Session &session, Pool &pool, std::size_t bytes) {
  const Device &device = session.driver.device(pool.device);
  const auto fits = [&] {
    return bytes <= device.total && lacking(pool, bytes) <= device.total - device.used &&
           (!pool.max_size || bytes <= pool.max_size - std::min(pool.used, pool.max_size));
  };
  if (fits()) return;
  do_frees(session, pool.device);
  if (!fits()) throw Refused{CUDA_ERROR_OUT_OF_MEMORY};
}

void trim(Driver &driver, Pool &pool, std::uint64_t keep) {
  reserve(driver, pool, std::max(whole_chunks(pool.used), std::min(pool.reserved, keep)));
}

void release_unused(Driver &driver) {
  for (auto &pool : std::exchange(driver.pools_to_trim, {}))
    trim(driver, *pool, pool->destroyed ? 0 : pool->release_threshold);
}

void add_block(Driver &driver, Pool &pool, FreeBlock block) {
  if (pool.free_count >= pool.most_free) {
    drop_blocks(driver, pool);
    pool.most_free = std::max(Pool::least_most_free, 2 * pool.free_count);
  }
  auto &blocks = pool.free_blocks[pages(block.allocation->size)][block.stream];
  blocks.push_back(std::move(block));
  ++pool.free_count;
}

Reusable take_block(Driver &driver, Pool &pool, Stream &stream, std::size_t bytes) {
  const auto size = pool.free_blocks.find(pages(bytes));
  if (size == pool.free_blocks.end()) return {};
  auto &streams = size->second;
  const auto is_ordered = [&](const FreeBlock &block) {
    if (block.stream == stream.id) return true;
    if (has_gone(block)) return pool.reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] != 0;
    return pool.reuse[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] != 0 &&
           driver.schedule.comes_after(stream, block.freed);
  };
  // Of each stream the first that was freed: it is done first, and waited for first.
  auto found = streams.end(), any = streams.end();
  const auto is_first = [&](auto it, auto before) {
    return before == streams.end() ||
           it->second.front().freed->id < before->second.front().freed->id;
  };
  for (auto it = streams.begin(); it != streams.end(); ++it) {
    if (is_first(it, any)) any = it;
    if (is_first(it, found) && is_ordered(it->second.front())) found = it;
  }
  const bool needs_edge = found == streams.end();
  if (needs_edge) {
    if (!pool.reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES]) return {};
    found = any;
  }
  FreeBlock block = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) streams.erase(found);
  if (streams.empty()) pool.free_blocks.erase(size);
  --pool.free_count;
  return {std::move(block), needs_edge};
}

void drop_blocks(Driver &driver, Pool &pool) {
  for (auto &[size, streams] : pool.free_blocks) {
    for (auto &[stream, blocks] : streams)
      pool.free_count -= std::erase_if(blocks, [&](const FreeBlock &block) {
        if (!has_gone(block)) return false;
        driver.memory.give_back(*block.allocation);
        return true;
      });
    std::erase_if(streams, [](auto &of) { return of.second.empty(); });
  }
  std::erase_if(pool.free_blocks, [](auto &of) { return of.second.empty(); });
}

}  // namespace simcuda
