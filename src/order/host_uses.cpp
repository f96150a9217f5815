// SPDX-License-Identifier: BSD-3-Clause
#include "order/host_uses.hpp"

#include <algorithm>
#include <mutex>

#include "order/by_address.hpp"
#include "order/waiting.hpp"

namespace cai::order {

void HostUses::keep(const HostPoint &point, bool write) {
  const std::lock_guard lock(lock_);
  forget_what_is_over();
  auto slot = std::find_if(slots_.begin(), slots_.end(),
                           [&](const Slot &other) { return other.queue == point.queue; });
  if (slot == slots_.end()) slot = slots_.insert(slot, {point.queue, 0, 0});
  // Two threads may arrive here in another order than they queued their work.
  slot->last = std::max(slot->last, point.number);
  if (write) slot->write = std::max(slot->write, point.number);
  any_.store(true, std::memory_order_release);
}

void HostUses::add_conflicts(bool write, HostPoints &out) {
  const std::lock_guard lock(lock_);
  forget_what_is_over();
  any_.store(!slots_.empty(), std::memory_order_release);
  for (const Slot &slot : slots_) {
    const std::uint64_t number = write ? slot.last : slot.write;
    if (number != 0) out.add({slot.queue, number});
  }
}

void HostUses::forget_what_is_over() noexcept {
  std::erase_if(slots_, [](const Slot &slot) { return slot.queue->is_over(slot.last); });
}

void keep_host_work(const cai_array &array, const HostPoint &point, bool write) {
  cai_owner *const keeper = host_keeper_of(array.owner);
  Uses &uses = make_uses_of(keeper);
  list_on_host(uses, array);
  uses.host.keep(point, write);
}

void keep_host_work(cai_owner &owner, std::uint64_t data, std::uint64_t size,
                    const HostPoint &point) {
  cai_owner *const keeper = host_keeper_of(&owner);
  Uses &uses = make_uses_of(keeper);
  list_on_host(uses, *keeper, data, size);
  uses.host.keep(point, true);
}

namespace {

// An owner that keeps its uses itself, as that of another copy of libcai, knows work of CPU streams
// that nothing here does. Of a GPU's memory it is asked with the uses there.
void await_keeper(const cai_array &array, bool write) {
  cai_owner *const keeper = host_keeper_of(array.owner);
  if (array.device_type != CAI_DEVICE_CPU || !stores_by_itself(keeper)) return;
  Demand demand;
  demand.keepers.add({keeper, write, -1});
  await_keepers(demand, 0);
}

}  // namespace

void add_host_work(const cai_array &array, bool write, HostPoints &out) {
  if (!may_have_host_work(array)) return;
  await_keeper(array, write);
  const cai_owner *const keeper = host_keeper_of(array.owner);
  Uses *const uses = keeps_here(keeper) ? uses_of(keeper) : nullptr;
  if (uses) uses->host.add_conflicts(write, out);
  for_each_part(array, [&](const cai_array &part) {
    for_each_on_host(part, [&](Uses &other) { other.host.add_conflicts(write, out); });
  });
}

void await_points(HostPoints &points, trace::Of of) {
  for (const HostPoint &point : points) {
    point.queue->wait_for(point.number);
    trace::edge(of, trace::host, {trace::Side::host_work},
                "made: the host has waited (no stream can wait for a stream of the CPU's)");
  }
}

void await_host_work(const cai_array &array, bool write) {
  HostPoints points;
  add_host_work(array, write, points);
  await_points(points, {-1, &array});
}

}  // namespace cai::order
