// SPDX-License-Identifier: BSD-3-Clause
// What all instructions that use memory share: the addresses of their lanes, and their modifiers.
#pragma once

#include <bit>

#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {

inline void find_addresses(Request &r) {
  Warp &w = r.warp;
  const Instruction &i = r.instruction;
  std::uint64_t *to = r.addresses;
  std::uint64_t offset = static_cast<std::uint64_t>(i.immediate);
  if (i.flag) offset += w.frame->local_base;
  if (i.option == 64) {
    const std::uint64_t *a = aligned(w.lanes<std::uint64_t>(i.a));
    EACH_LANE to[k] = a[k] + offset;
  } else {
    const std::uint32_t *a = aligned(w.lanes<std::uint32_t>(i.a));
    EACH_LANE to[k] = static_cast<std::uint32_t>(a[k] + static_cast<std::uint32_t>(offset));
  }
  if (r.mask != all_lanes) {
    const std::uint64_t first = to[std::countr_zero(r.mask)];
    EACH_LANE to[k] = r.mask & lane_bits.bit[k] ? to[k] : first;
  }
  std::uint64_t apart = 0, ored = 0;
  const std::uint64_t begin = to[0];
  for (unsigned k = 0; k < 32; ++k) {
    apart |= to[k] ^ (begin + k * r.size);
    ored |= to[k];
  }
  r.ored = ored;
  // An inactive lane would have the address of another one.
  if (apart == 0 && begin + 32 * r.size > begin) {
    r.together = true;
    r.low = begin;
    r.high = begin + 31 * r.size;
    return;
  }
  // As signed numbers, which vector instructions can compare. The order does not matter.
  std::int64_t low = INT64_MAX, high = INT64_MIN;
  for (unsigned k = 0; k < 32; ++k) {
    const auto at = static_cast<std::int64_t>(to[k]);
    low = at < low ? at : low;
    high = at > high ? at : high;
  }
  r.low = static_cast<std::uint64_t>(low);
  r.high = static_cast<std::uint64_t>(high);
}

inline const Place32 *list_of(const Warp &w, const Instruction &i) {
  return w.frame->body->lists.data() + i.list;
}

// Strong loads and stores.
inline void acquire(const Request &r) {
  r.warp.block.order(r, 0);
  r.warp.block.acquire();
  r.warp.polled();
}
inline void release(const Request &r) {
  r.warp.block.order(r, r.mask);
  r.warp.block.release();
}

inline std::optional<Space> take_space(Lowering &l) {
  if (l.take("global")) return Space::global;
  if (l.take_any({"shared", "shared::cta"})) return Space::shared;
  if (l.take("local")) return Space::local;
  if (l.take_any({"param", "param::entry", "param::func"})) return Space::param;
  if (l.take("const")) return Space::constant;
  return {};
}

// Reads hints of all kinds. Returns whether the operation is strong.
inline bool take_hints(Lowering &l) {
  const bool both = l.take("acq_rel");
  l.out.acquires |= l.take("acquire") || both;
  l.out.releases |= l.take("release") || both;
  const bool strong =
      l.out.acquires || l.out.releases || l.take_any({"volatile", "relaxed", "mmio"});
  l.take("weak");
  l.take_any({"cta", "gpu", "sys", "cluster"});
  l.take_any({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  l.take("nc");
  l.take("unified");
  for (auto name = l.next(); name; name = l.next()) {
    // These come before the type. Whatever else follows is left to the caller.
    bool hint = false;
    for (std::string_view each :
         {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
          "L1::no_allocate", "L2::evict_normal", "L2::evict_first", "L2::evict_last",
          "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"})
      hint |= l.take(each);
    if (!hint) break;
  }
  return strong;
}

// The last of the operands is a cache policy if the hint says so; which is to be asked before hints
// are taken.
inline bool has_policy(const Lowering &l) {
  return l.has("L2::cache_hint");
}
inline void expect_operands(Lowering &l, std::size_t least, std::size_t most, bool policy) {
  l.expect_operands(least + policy, most + policy);
  if (policy) l.read(l.operands() - 1, Type::b64);
}

inline unsigned take_vector(Lowering &l) {
  return l.take("v2") ? 2 : l.take("v4") ? 4 : l.take("v8") ? 8 : 1;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
