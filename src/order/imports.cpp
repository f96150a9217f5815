// SPDX-License-Identifier: BSD-3-Clause
#include "order/imports.hpp"

#include "core/immortal.hpp"
#include "core/layout.hpp"
#include "core/owned.hpp"

#include <algorithm>
#include <memory>

namespace cai::order {
namespace {

// The bytes of an array, or a mask: [begin, end).
struct Bytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const Bytes &) const = default;
  bool empty() const noexcept { return begin == end; }
  bool overlaps(const Bytes &other) const noexcept {
    return begin < other.end && other.begin < end;
  }
  Bytes united(const Bytes &other) const noexcept {
    if (empty()) return other;
    return {std::min(begin, other.begin), std::max(end, other.end)};
  }
  // Bytes of others that come between.
  std::uint64_t gap(const Bytes &other) const noexcept {
    if (empty() || overlaps(other)) return 0;
    return begin < other.begin ? other.begin - end : begin - other.end;
  }
};

Bytes bytes_of(const cai_array &array) noexcept {
  Extent extent;
  if (extent_of(array, &extent, nullptr) != CAI_OK) return {};
  return {array.data + static_cast<std::uint64_t>(extent.lo),
          array.data + static_cast<std::uint64_t>(extent.hi)};
}

// An array and its mask are two memories, which may lie far apart.
struct Listed {
  Uses *uses;
  Bytes parts[2];

  void add(const Bytes &more) noexcept {
    if (more.empty()) return;
    Bytes &part = parts[parts[0].gap(more) <= parts[1].gap(more) ? 0 : 1];
    part = part.united(more);
  }
  bool is_of_same(const Listed &other) const noexcept {
    return parts[0] == other.parts[0] && parts[1] == other.parts[1];
  }
  bool overlaps(const Bytes &bytes) const noexcept {
    return parts[0].overlaps(bytes) || parts[1].overlaps(bytes);
  }
};

// So many captures are remembered of imports that have ended.
constexpr std::size_t captures_most = 64;

struct Imports {
  std::mutex mutex;
  std::vector<Listed> listed;
  std::vector<Listed> in_captures;      // other arrays that are used in some
  std::vector<Listed> left;             // what imports that have ended had kept in captures
  std::vector<std::uint64_t> captures;  // of those, the oldest first
  std::atomic<std::size_t> count{0};
  std::atomic<std::size_t> captured{0};

  void sum_up() noexcept {
    count.store(listed.size() + left.size(), std::memory_order_release);
    captured.store(listed.size() + in_captures.size() + left.size(), std::memory_order_release);
  }
};

// Never destroyed: imports end until the very end of the process.
Imports &imports() {
  return immortal<Imports>();
}

void list(Uses &uses, const Bytes &bytes, const Bytes &of_mask,
          std::vector<Listed> Imports::*which = &Imports::listed) {
  Imports &all = imports();
  std::vector<Listed> &there = all.*which;
  const std::lock_guard lock(all.mutex);
  auto mine = std::find_if(there.begin(), there.end(),
                           [&](const Listed &other) { return other.uses == &uses; });
  if (mine == there.end()) {
    mine = there.insert(mine, {&uses, {}});
    uses.listed = true;
    all.sum_up();
  }
  mine->add(bytes);
  mine->add(of_mask);
}

// Forgets the oldest capture that is remembered, and what is of no other one.
void forget_oldest(Imports &all) {
  all.captures.erase(all.captures.begin());
  std::erase_if(all.left, [&](const Listed &each) {
    const bool is_old = std::none_of(all.captures.begin(), all.captures.end(),
                                     [&](auto capture) { return each.uses->is_in(capture); });
    if (is_old) delete each.uses;
    return is_old;
  });
}

// An import ends, and others of the same memory still have to come after its uses in a capture.
void leave(Imports &all, const Listed &ending) {
  auto found = std::find_if(all.left.begin(), all.left.end(),
                            [&](const Listed &other) { return other.is_of_same(ending); });
  if (found == all.left.end()) {
    auto made = std::make_unique<Uses>();
    found = all.left.insert(found, {made.get(), {ending.parts[0], ending.parts[1]}});
    static_cast<void>(made.release());
  }
  found->uses->take_captured(*ending.uses, all.captures);
  while (all.captures.size() > captures_most) forget_oldest(all);
}

}  // namespace

const cai_array *array_of(const cai_owner &owner) noexcept {
  if (is_ours(&owner)) return &reinterpret_cast<const Block &>(owner).array;
  if (!has_flag(&owner, CAI_OWNER_ARRAY_FOLLOWS)) return nullptr;
  const auto *const block = reinterpret_cast<const unsigned char *>(&owner);
  return reinterpret_cast<const cai_array *>(block + owner.struct_size);
}

void list_import(Uses &uses, const cai_array &array) {
  list(uses, bytes_of(array), array.mask ? bytes_of(*array.mask) : Bytes{});
}

void list_import(Uses &uses, const cai_owner &owner) {
  constexpr Bytes all_addresses{0, UINT64_MAX};
  const cai_array *const array = array_of(owner);
  array ? list_import(uses, *array) : list(uses, all_addresses, {});
}

void list_captured(Uses &uses, const cai_array &array) {
  if (is_import(keeper_of(array))) return list_import(uses, array);
  list(uses, bytes_of(array), array.mask ? bytes_of(*array.mask) : Bytes{}, &Imports::in_captures);
}

void unlist(Uses &uses) noexcept {
  Imports &all = imports();
  const auto is_mine = [&](const Listed &other) { return other.uses == &uses; };
  const std::lock_guard lock(all.mutex);
  const auto mine = std::find_if(all.listed.begin(), all.listed.end(), is_mine);
  if (mine != all.listed.end() && uses.any_captured()) {
    static_cast<void>(guard(nullptr, [&] { leave(all, *mine); }));
  }
  std::erase_if(all.listed, is_mine);
  std::erase_if(all.in_captures, is_mine);
  all.sum_up();
}

bool any_imports() noexcept {
  return imports().count.load(std::memory_order_acquire) != 0;
}

bool any_captured() noexcept {
  return imports().captured.load(std::memory_order_acquire) != 0;
}

void visit(const cai_array &array, bool in_capture, void (*found)(void *body, Uses &uses),
           void *body) {
  Imports &all = imports();
  const cai_owner *const keeper = keeper_of(array);
  const Uses *const mine = keeps_here(keeper) ? uses_of(keeper) : nullptr;
  const Bytes bytes = bytes_of(array);
  const auto visit_those = [&](const std::vector<Listed> &there) {
    for (const Listed &other : there) {
      if (other.uses != mine && other.overlaps(bytes)) found(body, *other.uses);
    }
  };
  const std::lock_guard lock(all.mutex);
  visit_those(all.listed);
  if (!in_capture) return;
  visit_those(all.in_captures);
  visit_those(all.left);
}

}  // namespace cai::order
