// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "warp.h"

namespace simcuda::kernel {
namespace {

// As of a flag at the same place.
std::uint64_t place_of_mbarrier(std::uint64_t offset) {
  return (shared_base + offset) >> 2;
}

}  // namespace

Block::Block(Worker &its_worker) : worker(its_worker), knowledge(its_worker.launch.warps) {
  const LaunchState &launch = worker.launch;
  warps_ = launch.warps;
  shared = Bytes(launch.shared_room);
  shared_written.resize(launch.shared_room / 64 + 2);
  if (launch.races && launch.shared_room) shared_uses.reserve(launch.shared_room);
  copies.resize(warps_);
  for (unsigned i = 0; i < warps_; ++i) warps.push_back(std::make_unique<Warp>(*this, i));
}

void Block::begin(std::uint64_t its_index) {
  index = its_index;
  const std::uint32_t *grid = worker.launch.launch.grid;
  ctaid[0] = static_cast<std::uint32_t>(index % grid[0]);
  ctaid[1] = static_cast<std::uint32_t>(index / grid[0] % grid[1]);
  ctaid[2] = static_cast<std::uint32_t>(index / grid[0] / grid[1]);
  barriers = {};
  mbarriers.clear();
  std::fill(shared_written.begin(), shared_written.end(), 0);
  knowledge.begin();
  for (Copies &each : copies) each.forget(shared_uses);
  epoch = stretch_epoch_ = stretch_length_ = 0;
  acquired = 0;
  released_in_ = UINT32_MAX;
  only_full = true;
  if (worker.launch.races) {
    stretch_length_ = 1;
    stretch_first_ = worker.launch.intervals.reserve(index, 0, 1);
    floor = full_floor = stretch_first_;
    if (!stretch_first_) worker.launch.races = false;
  }
  for (auto &warp : warps) warp->begin();
}

// An event has ordered threads: what they do from now on is distinct from what they did. Only where
// races are looked for.
void Block::begin_epoch() {
  ++epoch;
  if (epoch - stretch_epoch_ < stretch_length_) return;
  const std::uint32_t length = std::min(stretch_length_ * 2, 64u);
  const Stamp first = worker.launch.intervals.reserve(index, epoch, length);
  if (!first) {
    worker.launch.races = false;  // the numbers are used up: after hours
    return;
  }
  stretch_first_ = first;
  stretch_epoch_ = epoch;
  stretch_length_ = length;
}

void Block::join(const LanesByWarp &lanes, const Clock &others) {
  if (!worker.launch.races) return;
  begin_epoch();
  if (others.empty() && std::all_of(lanes.begin(), lanes.begin() + warps_,
                                    [](auto its) { return its == all_lanes; })) {
    knowledge.meet_all(epoch);
    full_floor = stamp(0) >> stamp_shift;
    only_full = true;
    return;
  }
  only_full = false;
  knowledge.meet(lanes, epoch, others);
}

void Block::join(const Warp &warp, std::uint32_t lanes) {
  LanesByWarp joined{};
  joined[warp.index] = lanes | ~warp.born;
  join(joined, {});
}

void Block::order(const Request &request, std::uint32_t changed) {
  const Instruction &i = request.instruction;
  if (!worker.launch.races || i.space == Space::local) return;
  if (!i.releases && knowledge.silent()) return;
  bool told = false;
  for (std::uint32_t left = request.mask; left;) {
    const std::uint64_t address = request.addresses[std::countr_zero(left)];
    std::uint32_t same = 0;
    for (unsigned lane = 0; lane < lanes_of_warp; ++lane)
      same |= std::uint32_t{request.addresses[lane] == address} << lane;
    same &= left;
    left &= ~same;
    const std::uint64_t place = i.space == Space::shared ? shared_base + address : address;
    if (place >= local_base) continue;
    // Lanes of one instruction are not distinguished.
    const unsigned warp = request.warp.index;
    if (same & changed)
      told |= knowledge.wrote(warp, same & changed, place >> 2, i.releases, epoch);
    if (request.operation != Operation::store && !i.unseen)
      knowledge.read(warp, same, place >> 2, i.acquires);
  }
  if (!told) return;
  begin_epoch();
  only_full = false;
}

void Block::fence(const Warp &warp, std::uint32_t lanes) {
  if (worker.launch.races) knowledge.fence(warp.index, lanes, epoch);
}

void Block::acquire() {
  if (worker.launch.races) acquired = worker.launch.intervals.acquire();
}

void Block::release() {
  if (!worker.launch.races || released_in_ == epoch) return;
  released_in_ = epoch;
  worker.launch.intervals.release(index, epoch);
}

void Block::arrive(const Warp &warp, std::uint32_t lanes, Mbarrier &barrier, bool releases) {
  if (!worker.launch.races) return;
  if (!knowledge.pass_on(warp.index, lanes, releases, epoch, barrier.arrived)) return;
  begin_epoch();
  only_full = false;
}

// Who waits then knows what these lanes did before, too, though copies alone promise less.
void Block::arrive_by_copies(const Warp &warp, std::uint32_t lanes, Mbarrier &barrier) {
  if (!worker.launch.races) return;
  for (Clock *clock : {&barrier.arrived, &barrier.copied}) {
    clock->resize(std::size_t{warps_} * lanes_of_warp);
    for (std::uint32_t left = lanes; left; left &= left - 1)
      (*clock)[warp.index * lanes_of_warp + std::countr_zero(left)] = epoch + 1;
  }
  copies[warp.index].track(lanes, stamp(warp.index), epoch);
  begin_epoch();
  only_full = false;
}

// A phase comes after all earlier ones.
void Block::complete(Mbarrier &barrier, std::uint64_t offset) {
  barrier.begin_phase();
  knowledge.leave(place_of_mbarrier(offset), barrier.arrived);
  barrier.arrived.clear();
  if (barrier.copied.empty()) return;
  barrier.copies_to_end.resize(barrier.copied.size());
  for (std::size_t i = 0; i < barrier.copied.size(); ++i)
    barrier.copies_to_end[i] = std::max(barrier.copies_to_end[i], barrier.copied[i]);
  barrier.copied.clear();
}

void Block::wait(const Warp &warp, std::uint32_t lanes, Mbarrier &barrier, std::uint64_t offset,
                 bool acquires) {
  if (!worker.launch.races) return;
  knowledge.read(warp.index, lanes, place_of_mbarrier(offset), acquires);
  if (barrier.copies_to_end.empty()) return;
  for (unsigned w = 0; w < warps_; ++w)
    copies[w].end_tracked(shared_uses, barrier.copies_to_end.data() + w * lanes_of_warp);
  barrier.copies_to_end.clear();
}

void Block::arrive(Warp &warp, unsigned number, std::uint32_t threads, std::uint32_t mask,
                   std::uint32_t predicate, bool aligned, bool waits) {
  Barrier &barrier = barriers[number];
  const std::uint32_t at = worker.launch.first_instruction[warp.frame->function] + warp.pc - 1;
  if (!(barrier.came >> warp.index & 1)) {
    barrier.places[warp.index] = at;
  } else if (aligned && barrier.places[warp.index] != at && worker.launch.launch.checks.barriers &&
             !worker.known(FindingKind::barrier_divergent, at)) {
    Finding finding;
    finding.kind = FindingKind::barrier_divergent;
    finding.place = warp.place();
    finding.thread = warp.thread_of(static_cast<unsigned>(std::countr_zero(mask)));
    finding.other_place = worker.launch.place_of(barrier.places[warp.index]);
    finding.other_thread =
        warp.thread_of(static_cast<unsigned>(std::countr_zero(barrier.lanes[warp.index])));
    finding.other_known = true;
    worker.find_out(std::move(finding), at);
  }
  if (!barrier.came) barrier.expected = threads;
  barrier.came |= std::uint32_t{1} << warp.index;
  barrier.lanes[warp.index] |= mask;
  if (waits) {
    barrier.waits[warp.index] |= mask;
  } else if (worker.launch.races) {
    // What it does from now on is not waited for.
    begin_epoch();
    only_full = false;
    knowledge.arrive(warp.index, mask, epoch, barrier.arrived);
  }
  barrier.count += static_cast<std::uint32_t>(std::popcount(predicate));
  barrier.all &= predicate == mask;
  barrier.any |= predicate != 0;
  try_complete(number);
}

void Block::complete_barriers() {
  for (unsigned number = 0; number < barriers.size(); ++number)
    if (barriers[number].came) try_complete(number);
}

// A warp counts in full as soon as all its remaining threads have arrived.
void Block::try_complete(unsigned number) {
  Barrier &barrier = barriers[number];
  if (barrier.expected == 0) {
    for (auto &warp : warps)
      if (warp->live & ~barrier.lanes[warp->index]) return;
  } else {
    std::uint32_t came = 0;
    for (auto &warp : warps) {
      const std::uint32_t lanes = barrier.lanes[warp->index];
      if (lanes)
        came +=
            warp->live & ~lanes ? static_cast<std::uint32_t>(std::popcount(lanes)) : lanes_of_warp;
    }
    if (came < barrier.expected) return;
  }
  results[number] = {barrier.count, barrier.all, barrier.any};
  const std::uint32_t came = barrier.came;
  LanesByWarp waits = barrier.waits;
  // Threads that have ended count as arrived.
  for (unsigned w = 0; w < warps_; ++w)
    if (waits[w] || barrier.expected == 0) waits[w] |= ~warps[w]->live;
  const Clock arrived = std::move(barrier.arrived);
  barrier = {};
  join(waits, arrived);
  for (auto &warp : warps)
    if (came >> warp->index & 1) warp->leave_barrier(static_cast<std::uint8_t>(number));
}

bool Block::run(std::uint64_t budget) {
  for (std::uint64_t round = 0; round < 4; ++round) {
    bool ended = true, moved = false;
    for (auto &warp : warps) {
      if (!warp->live) continue;
      const Warp::State state = warp->run(budget);
      ended &= state == Warp::State::ended;
      // The last thread to arrive has released the others.
      moved |= state != Warp::State::waits;
    }
    if (ended) return true;
    if (!moved) {
      moved = std::any_of(warps.begin(), warps.end(), [](auto &warp) { return warp->can_run(); });
      if (!moved) report_deadlock();
    }
  }
  return false;
}

void Block::report_deadlock() {
  std::string detail;
  const Warp *first = nullptr;
  for (auto &warp : warps) {
    if (!warp->live) continue;
    if (!first) first = warp.get();
    for (unsigned number = 0; number < barriers.size(); ++number) {
      const Barrier &barrier = barriers[number];
      if (!(barrier.came >> warp->index & 1) || detail.size() > 400) continue;
      if (!detail.empty()) detail += ' ';
      detail += "Warp " + std::to_string(warp->index) + " waits at barrier " +
                std::to_string(number) + ", " +
                to_string(worker.launch.place_of(barrier.places[warp->index])) + '.';
    }
  }
  throw Failed{FaultKind::deadlock,
               static_cast<unsigned>(std::countr_zero(first->live)),
               0,
               0,
               false,
               Space::generic,
               detail};
}

}  // namespace simcuda::kernel
