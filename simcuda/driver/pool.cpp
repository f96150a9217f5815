// SPDX-License-Identifier: BSD-3-Clause
#include "pool.h"
#include "virtual_memory.h"

#include <algorithm>
#include <utility>

namespace simcuda {
namespace {

std::size_t pages(std::size_t bytes) {
  constexpr std::size_t page_size = 4096;
  return (bytes + page_size - 1) / page_size;
}

bool has_gone(const FreeBlock &block) {
  return block.freed->state == Operation::State::done;
}

void reserve(Driver &driver, Pool &pool, std::uint64_t bytes) {
  if (pool.kind == MemoryKind::device) {
    Device &device = driver.device(pool.device);
    device.used = device.used - pool.reserved + bytes;
  }
  pool.reserved = bytes;
  pool.reserved_high = std::max(pool.reserved_high, bytes);
}

// What the pool would have to take from the device.
std::uint64_t lacking(const Pool &pool, std::size_t bytes) {
  const std::uint64_t wanted = in_chunks(pool.used + bytes);
  return wanted > pool.reserved ? wanted - pool.reserved : 0;
}

void do_frees(Session &session, int device) {
  Driver &driver = session.driver;
  std::vector<OperationPtr> frees;
  for (auto &pool : driver.pools.all()) {
    if (pool->device != device) continue;
    for (auto &[size, blocks] : pool->free_blocks)
      blocks.for_each([&](const FreeBlock &block) {
        if (!has_gone(block)) frees.push_back(block.freed);
      });
  }
  driver.schedule.demand(frees);
  driver.schedule.settle(session.lock);
  for (auto &pool : driver.pools.all())
    if (pool->device == device) trim(driver, *pool, 0);
}

}  // namespace

void FreeBlocks::add(FreeBlock block) {
  auto &blocks = by_stream_[block.stream];
  if (blocks.empty()) streams_.emplace(block.freed->id, block.stream);
  blocks.push_back(std::move(block));
}

std::optional<FreeBlock> FreeBlocks::take_first(const Chosen &chosen) {
  auto first = std::find_if(streams_.begin(), streams_.end(),
                            [&](auto &each) { return chosen(by_stream_.at(each.second).front()); });
  if (first == streams_.end()) return {};
  const auto found = by_stream_.find(first->second);
  auto &blocks = found->second;
  FreeBlock block = std::move(blocks.front());
  blocks.pop_front();
  streams_.erase(first);
  if (blocks.empty())
    by_stream_.erase(found);
  else
    streams_.emplace(blocks.front().freed->id, block.stream);
  return block;
}

std::size_t FreeBlocks::drop(const Chosen &chosen) {
  std::size_t dropped = 0;
  streams_.clear();
  for (auto &[stream, blocks] : by_stream_) {
    dropped += std::erase_if(blocks, chosen);
    if (!blocks.empty()) streams_.emplace(blocks.front().freed->id, stream);
  }
  std::erase_if(by_stream_, [](auto &of) { return of.second.empty(); });
  return dropped;
}

void FreeBlocks::for_each(const std::function<void(const FreeBlock &)> &tell) const {
  for (auto &[stream, blocks] : by_stream_) std::for_each(blocks.begin(), blocks.end(), tell);
}

std::uint64_t in_chunks(std::uint64_t bytes, std::uint64_t chunk) {
  return bytes > UINT64_MAX - chunk ? bytes : (bytes + chunk - 1) / chunk * chunk;
}

bool is_accessible(const Pool &pool, int device) {
  if (pool.kind == MemoryKind::managed ||
      (pool.kind == MemoryKind::device && pool.device == device))
    return true;
  auto stated = pool.access.find(device);
  return stated != pool.access.end() && stated->second == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

void refuse_inaccessible(const Allocation &allocation, int device) {
  const bool accessible = allocation.mapping
                              ? is_accessible(*allocation.mapping, device)
                              : !allocation.pool || is_accessible(*allocation.pool, device);
  if (!accessible) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

void charge(Driver &driver, Allocation &allocation) {
  allocation.charged = allocation.size;
  if (Pool *pool = allocation.pool.get()) {
    pool->used += allocation.charged;
    pool->used_high = std::max(pool->used_high, pool->used);
    reserve(driver, *pool, std::max(pool->reserved, in_chunks(pool->used)));
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
  reserve(driver, pool, std::max(in_chunks(pool.used), std::min(pool.reserved, keep)));
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
  pool.free_blocks[pages(block.allocation->size)].add(std::move(block));
  ++pool.free_count;
}

std::optional<FreeBlock> take_block(Driver &driver, Pool &pool, Stream &stream, std::size_t bytes) {
  const auto found = pool.free_blocks.find(pages(bytes));
  if (found == pool.free_blocks.end()) return {};
  FreeBlocks &blocks = found->second;
  std::optional<Moment> reached;  // by the stream
  const auto is_ordered = [&](const FreeBlock &block) {
    if (block.stream == stream.id) return true;
    if (has_gone(block)) return pool.reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] != 0;
    if (!pool.reuse[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES]) return false;
    if (!reached) reached = driver.schedule.reached(stream);
    return reached->comes_after(block.freed->step->moment);
  };
  std::optional<FreeBlock> block = blocks.take_first(is_ordered);
  if (!block && pool.reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES])
    block = blocks.take_first([](const FreeBlock &) { return true; });
  if (!block) return {};
  if (blocks.is_empty()) pool.free_blocks.erase(found);
  --pool.free_count;
  return block;
}

void drop_blocks(Driver &driver, Pool &pool) {
  for (auto &[size, blocks] : pool.free_blocks)
    pool.free_count -= blocks.drop([&](const FreeBlock &block) {
      if (!has_gone(block)) return false;
      driver.memory.give_back(*block.allocation);
      return true;
    });
  std::erase_if(pool.free_blocks, [](auto &of) { return of.second.is_empty(); });
}

}  // namespace simcuda
