// SPDX-License-Identifier: BSD-3-Clause
#include "order/imports.hpp"

#include "core/immortal.hpp"
#include "core/layout.hpp"
#include "core/owned.hpp"

#include <algorithm>

namespace cai::order {
namespace {

// The bytes of an array, or a mask: [begin, end).
struct Bytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

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
  bool overlaps(const Bytes &bytes) const noexcept {
    return parts[0].overlaps(bytes) || parts[1].overlaps(bytes);
  }
};

struct Imports {
  std::mutex mutex;
  std::vector<Listed> listed;
  std::atomic<std::size_t> count{0};
};

// Never destroyed: imports end until the very end of the process.
Imports &imports() {
  return immortal<Imports>();
}

void list(Uses &uses, const Bytes &bytes, const Bytes &of_mask) {
  Imports &all = imports();
  const std::lock_guard lock(all.mutex);
  auto mine = std::find_if(all.listed.begin(), all.listed.end(),
                           [&](const Listed &other) { return other.uses == &uses; });
  if (mine == all.listed.end()) {
    mine = all.listed.insert(mine, {&uses, {}});
    uses.listed = true;
    all.count.store(all.listed.size(), std::memory_order_release);
  }
  mine->add(bytes);
  mine->add(of_mask);
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

void unlist_import(Uses &uses) noexcept {
  Imports &all = imports();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.listed, [&](const Listed &other) { return other.uses == &uses; });
  all.count.store(all.listed.size(), std::memory_order_release);
}

bool any_imports() noexcept {
  return imports().count.load(std::memory_order_acquire) != 0;
}

void visit_imports(const cai_array &array, void (*found)(void *body, Uses &uses), void *body) {
  Imports &all = imports();
  const cai_owner *const keeper = keeper_of(array);
  const Uses *const mine = keeps_here(keeper) ? uses_of(keeper) : nullptr;
  const Bytes bytes = bytes_of(array);
  const std::lock_guard lock(all.mutex);
  for (const Listed &other : all.listed) {
    if (other.uses != mine && other.overlaps(bytes)) found(body, *other.uses);
  }
}

}  // namespace cai::order
