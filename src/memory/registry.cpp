// SPDX-License-Identifier: BSD-3-Clause
#include "memory/registry.hpp"

#include <array>
#include <atomic>
#include <mutex>

#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "memory/descending_map.hpp"
#include "memory/memory.hpp"

namespace cai::memory {
namespace {

struct Interval {
  uint64_t size;
  cai_memory *memory;
};

// Live memory does not overlap, so only the memory that begins last before an address can contain
// it.
struct alignas(64) Shard {
  GlobalLock lock;
  std::atomic<bool> empty{true};  // for look-ups without the lock
  DescendingMap<uint64_t, Interval> intervals;

  void note_size() noexcept { empty.store(intervals.empty(), std::memory_order_relaxed); }
};

// Memory within one small granule of addresses is in that granule's shard, so that threads rarely
// contend and trees are small. Memory that crosses small granules is in the large granule's shard,
// and memory that crosses large granules is in one shard for all such memory.
template <int bits, int shard_bits>
class Granules {
 public:
  static bool hold(uint64_t address, uint64_t size) noexcept {
    return (address >> bits) == ((address + size - 1) >> bits);
  }
  Shard &of(uint64_t address) noexcept {
    constexpr uint64_t spread = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
    return shards_[((address >> bits) * spread) >> (64 - shard_bits)];
  }
  auto begin() noexcept { return shards_.begin(); }
  auto end() noexcept { return shards_.end(); }

 private:
  std::array<Shard, std::size_t{1} << shard_bits> shards_;
};

struct Registry {
  Granules<18, 8> small;
  Granules<26, 6> large;
  Shard rest;
  GlobalLock lock;  // guards the next
  cai_memory *unaddressed = nullptr;

  Shard &of(uint64_t address, uint64_t size) noexcept {
    if (small.hold(address, size)) return small.of(address);
    return large.hold(address, size) ? large.of(address) : rest;
  }
};

// Never destroyed: memory may be freed as late as the process ends.
Registry &registry() {
  return immortal<Registry>();
}

cai_memory *look_up_in(Shard &shard, uint64_t address, uint64_t *offset) noexcept {
  if (shard.empty.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(shard.lock);
  const auto found = shard.intervals.lower_bound(address);
  if (found == shard.intervals.end()) return nullptr;
  const auto &[size, memory] = found->second;
  const uint64_t within = address - found->first;
  if (within >= size || !hold_if_held(*memory)) return nullptr;
  *offset = within;
  return memory;
}

}  // namespace

void enter(uint64_t address, uint64_t size, cai_memory *memory) {
  Shard &shard = registry().of(address, size);
  const std::lock_guard lock(shard.lock);
  shard.intervals.insert_or_assign(address, Interval{size, memory});
  shard.note_size();
}

void take_out(uint64_t address, uint64_t size, const cai_memory *memory) noexcept {
  Shard &shard = registry().of(address, size);
  const std::lock_guard lock(shard.lock);
  const auto found = shard.intervals.find(address);
  if (found != shard.intervals.end() && found->second.memory == memory) {
    shard.intervals.erase(found);
    shard.note_size();
  }
}

void enter_unaddressed(cai_memory &memory) noexcept {
  Registry &all = registry();
  const std::lock_guard lock(all.lock);
  memory.link = &all.unaddressed;
  memory.after = all.unaddressed;
  if (memory.after) memory.after->link = &memory.after;
  all.unaddressed = &memory;
}

void take_out_unaddressed(cai_memory &memory) noexcept {
  const std::lock_guard lock(registry().lock);
  if (!memory.link) return;
  *memory.link = memory.after;
  if (memory.after) memory.after->link = memory.link;
  memory.link = nullptr;
}

cai_memory *look_up(uint64_t address, uint64_t *offset) noexcept {
  Registry &all = registry();
  if (cai_memory *const found = look_up_in(all.small.of(address), address, offset)) return found;
  if (cai_memory *const found = look_up_in(all.large.of(address), address, offset)) return found;
  return look_up_in(all.rest, address, offset);
}

void take_out_if(bool (*gone)(cai_memory &memory) noexcept) noexcept {
  const auto sweep = [&](Shard &shard) {
    const std::lock_guard lock(shard.lock);
    for (auto each = shard.intervals.begin(); each != shard.intervals.end();) {
      each = gone(*each->second.memory) ? shard.intervals.erase(each) : std::next(each);
    }
    shard.note_size();
  };
  Registry &all = registry();
  for (Shard &shard : all.small) sweep(shard);
  for (Shard &shard : all.large) sweep(shard);
  sweep(all.rest);
  const std::lock_guard lock(all.lock);
  for (cai_memory *each = all.unaddressed; each; each = each->after) gone(*each);
}

}  // namespace cai::memory
