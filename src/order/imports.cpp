// SPDX-License-Identifier: BSD-3-Clause
#include "order/imports.hpp"

#include "core/immortal.hpp"
#include "core/layout.hpp"

#include <algorithm>

namespace cai::order {
namespace {

// The bytes of an array: [begin, end).
struct Bytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool overlaps(const Bytes &other) const noexcept {
    return begin < other.end && other.begin < end;
  }
};

Bytes bytes_of(const cai_array &array) noexcept {
  Extent extent;
  if (extent_of(array, &extent, nullptr) != CAI_OK) return {};
  return {array.data + static_cast<std::uint64_t>(extent.lo),
          array.data + static_cast<std::uint64_t>(extent.hi)};
}

struct Listed {
  Uses *uses;
  Bytes bytes;
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

}  // namespace

void list_import(Uses &uses, const cai_array &array) {
  Imports &all = imports();
  const Bytes bytes = bytes_of(array);
  const std::lock_guard lock(all.mutex);
  for (Listed &other : all.listed) {
    if (other.uses != &uses) continue;
    other.bytes = {std::min(other.bytes.begin, bytes.begin), std::max(other.bytes.end, bytes.end)};
    return;
  }
  all.listed.push_back({&uses, bytes});
  uses.listed = true;
  all.count.store(all.listed.size(), std::memory_order_release);
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
    if (other.uses != mine && other.bytes.overlaps(bytes)) found(body, *other.uses);
  }
}

}  // namespace cai::order
