// SPDX-License-Identifier: BSD-3-Clause
#include "memory/registry.hpp"

#include <absl/container/btree_map.h>

#include <array>
#include <mutex>

#include "order/lock.hpp"

namespace cai::memory {
namespace {

struct Interval {
  uint64_t size;
  cai_memory *memory;
};

// Live memory does not overlap: whatever begins last before an address is the only candidate.
struct alignas(64) Shard {
  order::Lock lock;
  absl::btree_map<uint64_t, Interval> intervals;
};

// Memory within one granule of addresses is kept by the granule's shard, so that threads seldom
// meet; memory that reaches beyond one, by a shard for all such.
constexpr int granule_bits = 22;
constexpr std::size_t shard_count = 256;

struct Registry {
  std::array<Shard, shard_count> shards;
  Shard large;

  Shard &of_granule(uint64_t address) noexcept {
    constexpr uint64_t spread = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    return shards[((address >> granule_bits) * spread) >> 56];
  }
  Shard &of(uint64_t address, uint64_t size) noexcept {
    const bool is_small = (address >> granule_bits) == ((address + size - 1) >> granule_bits);
    return is_small ? of_granule(address) : large;
  }
};

// Never destroyed: memory is given back until the very end of the process.
Registry &registry() {
  static auto *const made = new Registry;
  return *made;
}

cai_memory *look_up_in(Shard &shard, uint64_t address, uint64_t *offset,
                       bool (*hold)(cai_memory *memory)) noexcept {
  const std::lock_guard lock(shard.lock);
  auto found = shard.intervals.upper_bound(address);
  if (found == shard.intervals.begin()) return nullptr;
  --found;
  const uint64_t within = address - found->first;
  if (within >= found->second.size || !hold(found->second.memory)) return nullptr;
  *offset = within;
  return found->second.memory;
}

}  // namespace

void enter(uint64_t address, uint64_t size, cai_memory *memory) {
  Shard &shard = registry().of(address, size);
  const std::lock_guard lock(shard.lock);
  shard.intervals.insert_or_assign(address, Interval{size, memory});
}

void take_out(uint64_t address, uint64_t size, const cai_memory *memory) noexcept {
  Shard &shard = registry().of(address, size);
  const std::lock_guard lock(shard.lock);
  const auto found = shard.intervals.find(address);
  if (found != shard.intervals.end() && found->second.memory == memory) {
    shard.intervals.erase(found);
  }
}

cai_memory *look_up(uint64_t address, uint64_t *offset, bool (*hold)(cai_memory *memory)) noexcept {
  Registry &all = registry();
  cai_memory *const found = look_up_in(all.of_granule(address), address, offset, hold);
  return found ? found : look_up_in(all.large, address, offset, hold);
}

void take_out_if(bool (*gone)(const cai_memory *memory, const void *context),
                 const void *context) noexcept {
  const auto sweep = [&](Shard &shard) {
    const std::lock_guard lock(shard.lock);
    for (auto each = shard.intervals.begin(); each != shard.intervals.end();) {
      each = gone(each->second.memory, context) ? shard.intervals.erase(each) : std::next(each);
    }
  };
  Registry &all = registry();
  for (Shard &shard : all.shards) sweep(shard);
  sweep(all.large);
}

}  // namespace cai::memory
