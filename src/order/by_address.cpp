// SPDX-License-Identifier: BSD-3-Clause
#include "order/by_address.hpp"

#include <algorithm>
#include <memory>

#include "core/global_lock.hpp"
#include "core/immortal.hpp"
#include "core/layout.hpp"
#include "order/above.hpp"
#include "order/owned.hpp"
#include "order/pinned.hpp"

namespace cai::order {
namespace {

// The bytes of an array or a mask: [begin, end).
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
  Bytes moved(std::uint64_t by) const noexcept { return {begin + by, end + by}; }
  // The bytes between two ranges.
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

// The same at the device's address: an import of pinned memory may have the host's.
Bytes gpu_bytes_of(const cai_array &array) noexcept {
  return bytes_of(array).moved(address_of_gpu_work(array) - array.data);
}

// The same at the host's address. Pinned memory may have another one on the device, and an import
// on the host has the host's.
Bytes host_bytes_of(const cai_array &array) {
  return bytes_of(array).moved(address_of_host_work(array) - array.data);
}

// An array and its mask are two memories, which may lie far apart.
struct Listed {
  Uses *uses;
  Bytes parts[2];
  bool is_outlived = false;  // by the memory, which others use with owners of their own
  bool in_capture = false;   // has uses in captures that may not have ended
  bool on_host = false;      // has had work of CPU streams

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

// How many captures are remembered of owners that have ended.
constexpr std::size_t captures_most = 64;

struct Lists {
  GlobalLock mutex;
  std::vector<Listed> listed;
  std::vector<Listed> others;           // arrays that were used in captures, or by the host
  std::vector<Listed> left;             // uses in captures of owners that have ended
  std::vector<std::uint64_t> captures;  // of `left`, the oldest first

  void sum_up() noexcept {
    const auto count_those = [&](bool Listed::*which) {
      const auto is_one = [&](const Listed &each) { return each.*which; };
      return static_cast<std::size_t>(std::count_if(listed.begin(), listed.end(), is_one) +
                                      std::count_if(others.begin(), others.end(), is_one));
    };
    Listings::imports.store(listed.size() + left.size(), std::memory_order_release);
    const std::size_t captured = count_those(&Listed::in_capture) + left.size();
    Listings::captured.store(captured, std::memory_order_release);
    Listings::on_host.store(count_those(&Listed::on_host), std::memory_order_release);
  }
};

// Never destroyed: imports may end as late as the process does.
Lists &lists() {
  return immortal<Lists>();
}

Listed *find(std::vector<Listed> &there, const Uses &uses) noexcept {
  const auto found = std::find_if(there.begin(), there.end(),
                                  [&](const Listed &other) { return other.uses == &uses; });
  return found == there.end() ? nullptr : &*found;
}

// Adds to the lists: an import is found by other imports, and any array by the uses its flag names.
void list(Uses &uses, const cai_owner &keeper, const Bytes &bytes, const Bytes &of_mask,
          bool is_import) {
  Lists &all = lists();
  std::vector<Listed> &there = is_import ? all.listed : all.others;
  const std::lock_guard lock(all.mutex);
  Listed *mine = find(there, uses);
  if (!mine) {
    const bool is_of_another = keeper.keeper;  // its memory is a foreign array's
    mine = &there.emplace_back(Listed{&uses, {}, is_import || is_of_another});
    uses.listed = true;
    all.sum_up();
  }
  mine->add(bytes);
  mine->add(of_mask);
}

void list(Uses &uses, const cai_owner &keeper, const cai_array &array, bool is_import) {
  const Bytes of_mask = array.mask ? gpu_bytes_of(mask_of(array)) : Bytes{};
  list(uses, keeper, gpu_bytes_of(array), of_mask, is_import);
}

void set_flag(const Uses &uses, bool Listed::*flag) noexcept {
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  for (auto *const there : {&all.listed, &all.others}) {
    if (Listed *const mine = find(*there, uses)) mine->*flag = true;
  }
  all.sum_up();
}

// Forgets uses in captures that are no longer remembered.
void forget_others(Lists &all) noexcept {
  std::erase_if(all.left, [&](const Listed &each) {
    const bool is_old = std::none_of(all.captures.begin(), all.captures.end(),
                                     [&](auto capture) { return each.uses->is_in(capture); });
    if (is_old) delete each.uses;
    return is_old;
  });
}

// An import ends, or memory of a foreign array, and others that have the same memory must still
// wait for its uses in a capture.
void leave(Lists &all, const Listed &ending) {
  auto found = std::find_if(all.left.begin(), all.left.end(),
                            [&](const Listed &other) { return other.is_of_same(ending); });
  if (found == all.left.end()) {
    auto made = std::make_unique<Uses>();
    found = all.left.insert(found, {made.get(), {ending.parts[0], ending.parts[1]}, true, true});
    static_cast<void>(made.release());
  }
  found->uses->take_captured(*ending.uses, all.captures);
  if (all.captures.size() <= captures_most) return;
  all.captures.erase(all.captures.begin());
  forget_others(all);
}

}  // namespace

const cai_array *array_of(const cai_owner &owner) noexcept {
  if (is_ours(&owner)) return &reinterpret_cast<const Block &>(owner).array;
  if (!has_flag(&owner, CAI_OWNER_ARRAY_FOLLOWS)) return nullptr;
  const auto *const block = reinterpret_cast<const unsigned char *>(&owner);
  return reinterpret_cast<const cai_array *>(block + owner.struct_size);
}

void list_import(Uses &uses, const cai_array &array) {
  list(uses, *keeper_of(array), array, true);
}

void list_captured(Uses &uses, const cai_array &array) {
  const cai_owner *const keeper = keeper_of(array);
  list(uses, *keeper, array, is_import(keeper));
}

void list_on_host(Uses &uses, const cai_array &array) {
  const cai_owner *const keeper = host_keeper_of(array.owner);
  const Bytes of_mask = array.mask ? host_bytes_of(mask_of(array)) : Bytes{};
  list(uses, *keeper, host_bytes_of(array), of_mask, is_import(keeper));
  set_flag(uses, &Listed::on_host);
}

void list_on_host(Uses &uses, const cai_owner &keeper, std::uint64_t data, std::uint64_t size) {
  list(uses, keeper, {data, data + size}, {}, is_import(&keeper));
  set_flag(uses, &Listed::on_host);
}

void list_owner(Uses &uses, const cai_owner &owner, bool in_capture) {
  constexpr Bytes all_addresses{0, UINT64_MAX};
  const cai_array *const array = array_of(owner);
  const bool imported = is_import(&owner);
  if (array && (imported || in_capture)) return list(uses, owner, *array, imported);
  if (imported) list(uses, owner, all_addresses, {}, imported);
}

void note_captured(const Uses &uses) noexcept {
  set_flag(uses, &Listed::in_capture);
}

void unlist(Uses &uses) noexcept {
  Lists &all = lists();
  const auto is_mine = [&](const Listed &other) { return other.uses == &uses; };
  const std::lock_guard lock(all.mutex);
  const Listed *mine = find(all.listed, uses);
  if (!mine) mine = find(all.others, uses);
  if (mine && mine->is_outlived && uses.any_captured() && !uses.are_half_changed())
    static_cast<void>(guard(nullptr, [&] { leave(all, *mine); }));
  std::erase_if(all.listed, is_mine);
  std::erase_if(all.others, is_mine);
  uses.listed = false;
  all.sum_up();
}

void forget_captures_over(const Stream &stream) noexcept {
  if (stream.is_default()) return;
  Lists &all = lists();
  const std::lock_guard lock(all.mutex);
  static_cast<void>(guard(nullptr, [&] {
    std::vector<std::uint64_t> over;
    for (auto *const there : {&all.listed, &all.others, &all.left}) {
      for (const Listed &each : *there) {
        if (each.in_capture) each.uses->add_captures_over(stream.value, stream.capture.id, over);
      }
    }
    if (over.empty()) return;
    for (auto *const there : {&all.listed, &all.others}) {
      for (Listed &each : *there) {
        if (each.in_capture) each.in_capture = !each.uses->forget_captures(over);
      }
    }
    std::erase_if(all.captures, [&](std::uint64_t capture) {
      return std::find(over.begin(), over.end(), capture) != over.end();
    });
    forget_others(all);
    all.sum_up();
  }));
}

bool finds_captured(const cai_array &array) noexcept {
  bool any = false;
  for_each_captured(array, [&](const Uses &uses) { any = any || uses.any_captured(); });
  return any;
}

void visit(const cai_array &array, Kept kept, void (*found)(void *body, Uses &uses), void *body) {
  Lists &all = lists();
  const bool of_host = kept == Kept::on_host;
  const cai_owner *const keeper = of_host ? host_keeper_of(array.owner) : keeper_of(array);
  const Uses *const mine = keeps_here(keeper) ? uses_of(keeper) : nullptr;
  const Bytes bytes = of_host ? host_bytes_of(array) : gpu_bytes_of(array);
  const auto visit_those = [&](const std::vector<Listed> &there, bool Listed::*flag) {
    for (const Listed &other : there) {
      const bool is_wanted = !flag || other.*flag;
      if (is_wanted && other.uses != mine && other.overlaps(bytes)) found(body, *other.uses);
    }
  };
  const std::lock_guard lock(all.mutex);
  if (kept == Kept::by_imports) return visit_those(all.listed, nullptr);
  bool Listed::*const flag = of_host ? &Listed::on_host : &Listed::in_capture;
  visit_those(all.listed, flag);
  visit_those(all.others, flag);
  if (!of_host) visit_those(all.left, nullptr);
}

}  // namespace cai::order
