// SPDX-License-Identifier: BSD-3-Clause
#include "memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "warp.h"

namespace simcuda::kernel {
namespace {

std::uint64_t bits_of_size(unsigned size) {
  return size >= 64 ? ~std::uint64_t{} : (std::uint64_t{1} << size) - 1;
}

// Which of the bits are set, for the bytes from `offset` on.
std::uint64_t written_bits(const std::uint64_t *words, std::uint64_t offset, unsigned size) {
  const unsigned in_word = offset & 63;
  std::uint64_t bits = __atomic_load_n(words + (offset >> 6), __ATOMIC_RELAXED) >> in_word;
  if (in_word + size > 64)
    bits |= __atomic_load_n(words + (offset >> 6) + 1, __ATOMIC_RELAXED) << (64 - in_word);
  return bits & bits_of_size(size);
}

// `others`: other threads may set bits of the same word: workers, and the owner of the window.
void set_written(std::uint64_t *words, std::uint64_t offset, unsigned size, bool others) {
  const unsigned in_word = offset & 63;
  const auto set = [&](std::uint64_t &word, std::uint64_t bits) {
    if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & bits) == bits) return;
    if (others)
      __atomic_fetch_or(&word, bits, __ATOMIC_RELAXED);
    else
      word |= bits;
  };
  set(words[offset >> 6], bits_of_size(size) << in_word);
  if (in_word + size > 64) set(words[(offset >> 6) + 1], bits_of_size(size) >> (64 - in_word));
}

bool reads(const Request &request) {
  return request.operation != Operation::store && !request.instruction.overwrites;
}

template <class F>
void each_active(std::uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

}  // namespace

Memory::Memory(LaunchState &launch, Worker &worker)
    : launch_(launch),
      worker_(worker),
      cached_(launch.code.caches, nullptr),
      accesses_(launch.launch.checks.accesses),
      written_(launch.launch.checks.written),
      races_(launch.races),
      warp_(warp_uses()) {}

void Memory::fail(const Request &request, FaultKind kind, unsigned lane, std::uint64_t address,
                  Space space, std::string detail) const {
  throw Failed{kind,
               lane,
               address,
               request.size,
               request.operation != Operation::load,
               space,
               std::move(detail)};
}

View *Memory::find(std::uint64_t address) {
  const auto above = [](std::uint64_t value, const std::unique_ptr<View> &view) {
    return value < view->window.begin;
  };
  auto after = std::upper_bound(views_.begin(), views_.end(), address, above);
  if (after != views_.begin() && address < (*std::prev(after))->window.end)
    return std::prev(after)->get();
  const auto own = reinterpret_cast<std::uintptr_t>(launch_.grid_barrier.data());
  const Window window = address - own < launch_.grid_barrier.size()
                            ? Window{own, own + launch_.grid_barrier.size(),
                                     launch_.grid_barrier.data(), true, nullptr}
                            : launch_.environment.find(address);
  if (address < window.begin || address >= window.end) return nullptr;
  auto view = std::make_unique<View>();
  view->window = window;
  return views_.insert(after, std::move(view))->get();
}

void Memory::forget(std::uint64_t address) {
  std::fill(cached_.begin(), cached_.end(), nullptr);
  for (auto view = views_.begin(); view != views_.end(); ++view)
    if ((*view)->window.begin == address) {
      gone_.push_back(std::move(*view));
      views_.erase(view);
      return;
    }
}

void Memory::take_over(Memory &other) {
  const auto add = [](UsedBytes &mine, UsedBytes &its) {
    if (its.bytes.empty()) return;
    if (mine.bytes.empty())
      std::swap(mine.bytes, its.bytes);
    else
      mine.bytes.merge(its.bytes);
    if (its.block < mine.block)
      std::tie(mine.block, mine.instruction) = {its.block, its.instruction};
  };
  for (auto &its : other.views_) {
    const auto mine =
        std::lower_bound(views_.begin(), views_.end(), its->window.begin,
                         [](auto &view, auto begin) { return view->window.begin < begin; });
    if (mine == views_.end() || (*mine)->window.begin != its->window.begin) {
      views_.insert(mine, std::move(its));
      continue;
    }
    add((*mine)->reads, its->reads);
    add((*mine)->writes, its->writes);
    add((*mine)->atomics, its->atomics);
  }
}

void Memory::reach(Request &request, Reach &found) {
  if (races_) {
    const Warp &warp = request.warp;
    me_ = warp.block.stamp(warp.index);
    place_ = instruction_of(warp);
  }
  found.together = false;
  switch (request.instruction.space) {
    case Space::shared:
      return reach_shared(request, found);
    case Space::local:
      each_active(request.mask, [&](unsigned lane) {
        reach_local_lane(request, lane, request.addresses[lane], found);
      });
      return;
    case Space::param:
      each_active(request.mask, [&](unsigned lane) {
        reach_param_lane(request, lane, request.addresses[lane], found);
      });
      return;
    default:
      return reach_global(request, found);
  }
}

void Memory::reach_global(Request &request, Reach &found) {
  View *&cached = cached_[request.instruction.cache];
  const std::uint64_t end = request.high + request.size;
  const auto fits = [&](const View *view) {
    return view && request.low >= view->window.begin && end <= view->window.end &&
           end >= request.low;
  };
  if (!fits(cached) && request.low < shared_base) cached = find(request.low);
  if (!fits(cached) || (request.ored & (request.size - 1)) ||
      (request.operation != Operation::load && !cached->window.writable)) {
    each_active(request.mask, [&](unsigned lane) {
      reach_global_lane(request, lane, request.addresses[lane], found);
    });
    return;
  }
  View &view = *cached;
  if (request.together) {
    const std::uint64_t offset = request.low - view.window.begin;
    found.together = true;
    found.at[0] = view.window.bytes + offset;
    return note_together(request, view, offset);
  }
  const std::uint64_t base = ~view.window.begin + 1;
  const bool noted = races_ && !view.uses.empty() && note_warp(request, view.uses, base);
  each_active(request.mask, [&](unsigned lane) {
    const std::uint64_t offset = request.addresses[lane] - view.window.begin;
    found.at[lane] = view.window.bytes + offset;
    note_lane(request, view, lane, offset, noted);
  });
}

// The address may be invalid, or be that of the block's or the thread's own memory.
void Memory::reach_global_lane(Request &request, unsigned lane, std::uint64_t address,
                               Reach &found) {
  const Space space = request.instruction.space;
  if (space == Space::generic && address >= shared_base) {
    if (address - shared_base < most_of_window)
      return reach_shared_lane(request, lane, address - shared_base, found);
    if (address - local_base < most_of_window)
      return reach_local_lane(request, lane, address - local_base, found);
  }
  // The kernel's parameters are in global memory.
  if (address - param_base < most_of_window)
    return reach_param_lane(request, lane, address - param_base, found);
  // Alignment is checked first, as hardware does.
  if (address & (request.size - 1)) fail(request, FaultKind::misaligned, lane, address, space, {});
  View *view = address < shared_base ? find(address) : nullptr;
  if (!view || request.size > view->window.end - address)
    fail(request, FaultKind::illegal_address, lane, address, space,
         launch_.environment.describe(address));
  if (request.operation != Operation::load && !view->window.writable)
    fail(request, FaultKind::illegal_address, lane, address, space, "It must not be written.");
  const std::uint64_t offset = address - view->window.begin;
  found.at[lane] = view->window.bytes + offset;
  note_lane(request, *view, lane, offset, false);
}

void Memory::reach_shared(Request &request, Reach &found) {
  const Block &block = request.warp.block;
  const std::uint64_t end = request.high + request.size;
  if (end > launch_.shared_room || end < request.low || (request.ored & (request.size - 1))) {
    each_active(request.mask, [&](unsigned lane) {
      reach_shared_lane(request, lane, request.addresses[lane], found);
    });
    return;
  }
  if (!request.of_mbarrier && request.warp.block.mbarriers.near(request.low, end)) [[unlikely]]
    each_active(request.mask,
                [&](unsigned lane) { note_mbarriers(request, lane, request.addresses[lane]); });
  std::byte *const bytes = block.shared.data();
  if (request.together && !races_ && !written_) {
    found.together = true;
    found.at[0] = bytes + request.low;
    return;
  }
  each_active(request.mask,
              [&](unsigned lane) { found.at[lane] = bytes + request.addresses[lane]; });
  found.together = request.together;
  note_shared(request);
}

void Memory::reach_shared_lane(Request &request, unsigned lane, std::uint64_t offset,
                               Reach &found) {
  if (offset & (request.size - 1))
    fail(request, FaultKind::misaligned, lane, offset, Space::shared, {});
  if (offset >= launch_.shared_room)  // a multiple of each size
    fail(request, FaultKind::illegal_address, lane, offset, Space::shared,
         "The block has " + std::to_string(launch_.shared_bytes) + " bytes of shared memory.");
  found.at[lane] = request.warp.block.shared.data() + offset;
  if (!request.of_mbarrier) note_mbarriers(request, lane, offset);
  note_shared(request, lane, offset);
}

// What is written over is no mbarrier any more.
void Memory::note_mbarriers(Request &request, unsigned lane, std::uint64_t offset) {
  Mbarriers &barriers = request.warp.block.mbarriers;
  const std::uint64_t end = offset + request.size;
  while (barriers.near(offset, end)) {
    const std::uint64_t at = barriers.first_in(offset, end);
    if (at == Mbarriers::no_offset) return;
    request.warp.find_misuse(FindingKind::mbarrier, lane,
                             "a valid mbarrier is at byte " + std::to_string(at) +
                                 " of shared memory, which only its own instructions may use");
    if (request.operation == Operation::load) return;
    barriers.erase(at);
  }
}

void Memory::reach_local_lane(Request &request, unsigned lane, std::uint64_t offset, Reach &found) {
  const std::uint32_t room = request.warp.local_room();
  if (offset & (request.size - 1))
    fail(request, FaultKind::misaligned, lane, offset, Space::local, {});
  if (offset >= room || request.size > room - offset)
    fail(request, FaultKind::illegal_address, lane, offset, Space::local,
         "The thread has " + std::to_string(room) + " bytes of local memory.");
  found.at[lane] = request.warp.local(lane) + offset;
}

void Memory::reach_param_lane(Request &request, unsigned lane, std::uint64_t offset, Reach &found) {
  const auto &bytes = launch_.launch.parameters;
  if (offset & (request.size - 1))
    fail(request, FaultKind::misaligned, lane, offset, Space::param, {});
  if (request.operation != Operation::load || offset >= bytes.size() ||
      request.size > bytes.size() - offset)
    fail(request, FaultKind::illegal_address, lane, offset, Space::param,
         "The kernel has " + std::to_string(bytes.size()) + " bytes of parameters.");
  // Nothing is stored there.
  found.at[lane] = const_cast<std::byte *>(bytes.data()) + offset;
}

std::byte *Memory::reach_one(Warp &warp, unsigned lane, std::uint64_t address,
                             std::uint64_t &room) {
  room = 0;
  if (address - shared_base < most_of_window) {
    const std::uint64_t offset = address - shared_base;
    if (offset >= launch_.shared_room) return nullptr;
    room = launch_.shared_room - offset;
    return warp.block.shared.data() + offset;
  }
  if (address - local_base < most_of_window) {
    const std::uint64_t offset = address - local_base;
    if (offset >= warp.local_room()) return nullptr;
    room = warp.local_room() - offset;
    return warp.local(lane) + offset;
  }
  View *view = address < shared_base ? find(address) : nullptr;
  if (!view) return nullptr;
  room = view->window.end - address;
  return view->window.bytes + (address - view->window.begin);
}

std::uint32_t Memory::instruction_of(const Warp &warp) const {
  return launch_.first_instruction[warp.frame->function] + warp.pc - 1;
}

// The set of a window's bytes for this kind of use.
ByteSet &Memory::used(const Request &request, View &view) {
  UsedBytes &used = request.operation == Operation::load    ? view.reads
                    : request.operation == Operation::store ? view.writes
                                                            : view.atomics;
  const std::uint64_t block = request.warp.block.index;
  if (block < used.block) [[unlikely]] {
    if (used.bytes.empty()) used.bytes.reserve(view.window.end - view.window.begin);
    used.block = block;
    used.instruction = instruction_of(request.warp);
  }
  return used.bytes;
}

// Races are looked for as long as there is memory for it, so not in a window that is too large.
bool Memory::has_uses(View &view) {
  if (!view.uses.empty()) return true;
  try {
    view.uses.reserve(view.window.end - view.window.begin);
  } catch (const std::bad_alloc &) {
    launch_.races = false;
    return false;
  }
  return true;
}

void Memory::note_together(Request &request, View &view, std::uint64_t offset) {
  const std::uint64_t size = std::uint64_t{request.size} * lanes_of_warp;
  const bool load = request.operation == Operation::load;
  if (accesses_) used(request, view).add_range(offset, size);
  if (view.window.written) {
    for (std::uint64_t at = 0; at < size; at += 32) {
      if (!load) {
        set_written(view.window.written, offset + at, 32, true);
      } else if (written_ &&
                 written_bits(view.window.written, offset + at, 32) != bits_of_size(32)) {
        for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
          const std::uint64_t mine = offset + std::uint64_t{lane} * request.size;
          const std::uint64_t bits = written_bits(view.window.written, mine, request.size);
          if (request.instruction.count > 1 ? bits == 0 : bits != bits_of_size(request.size))
            report_unwritten(request, {lane, false, view.window.begin + mine, nullptr});
        }
        break;
      }
    }
  }
  if (!races_ || !has_uses(view)) return;
  if (note_warp(request, view.uses, offset - request.low)) return;
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    const std::uint64_t mine = offset + std::uint64_t{lane} * request.size;
    check_race(request, view.uses, mine,
               {lane, false, view.window.begin + mine, view.window.bytes + mine});
  }
}

void Memory::note_lane(Request &request, View &view, unsigned lane, std::uint64_t offset,
                       bool noted) {
  const bool load = request.operation == Operation::load;
  if (accesses_) used(request, view).add(offset, request.size);
  const Place place{lane, false, view.window.begin + offset, view.window.bytes + offset};
  if (view.window.written) {
    if (written_ && reads(request)) {
      const std::uint64_t bits = written_bits(view.window.written, offset, request.size);
      if (request.instruction.count > 1 ? bits == 0 : bits != bits_of_size(request.size))
        report_unwritten(request, place);
    }
    if (!load) set_written(view.window.written, offset, request.size, true);
  }
  if (!races_ || noted || !has_uses(view)) return;
  check_race(request, view.uses, offset, place);
}

// All lanes at once: usually all bytes between the lowest and the highest have been written.
void Memory::note_shared(Request &request) {
  Block &block = request.warp.block;
  const bool load = request.operation == Operation::load;
  std::uint64_t *const words = block.shared_written.data();
  const std::uint64_t span = request.high - request.low + request.size;
  bool written = !written_ || !load;
  if (!written && span <= 512) {
    written = true;
    for (std::uint64_t at = 0; at < span; at += 64) {
      const auto part = static_cast<unsigned>(std::min<std::uint64_t>(64, span - at));
      written &= written_bits(words, request.low + at, part) == bits_of_size(part);
    }
  }
  if (!written || (written_ && !load)) {
    each_active(request.mask, [&](unsigned lane) {
      note_shared_written(request, lane, request.addresses[lane]);
    });
  }
  if (!races_ || note_warp(request, block.shared_uses, 0)) return;
  std::uint64_t before = ~std::uint64_t{}, before_that = before;
  each_active(request.mask, [&](unsigned lane) {
    const std::uint64_t offset = request.addresses[lane];
    // If two lanes have read, others may read, too, while all know the same: no more is stored.
    const bool known = load && block.only_full && offset == before && offset == before_that;
    before_that = before;
    before = offset;
    if (!known)
      check_race(request, block.shared_uses, offset,
                 {lane, true, offset, block.shared.data() + offset});
  });
}

void Memory::note_shared(Request &request, unsigned lane, std::uint64_t offset) {
  Block &block = request.warp.block;
  if (written_) note_shared_written(request, lane, offset);
  if (races_)
    check_race(request, block.shared_uses, offset,
               {lane, true, offset, block.shared.data() + offset});
}

void Memory::note_shared_written(Request &request, unsigned lane, std::uint64_t offset) {
  Block &block = request.warp.block;
  std::uint64_t *const words = block.shared_written.data();
  if (reads(request)) {
    const std::uint64_t bits = written_bits(words, offset, request.size);
    if (bits != bits_of_size(request.size) && (request.instruction.count == 1 || bits == 0))
      report_unwritten(request, {lane, true, offset, nullptr});
  }
  if (request.operation != Operation::load) set_written(words, offset, request.size, false);
}

// All lanes at once, if they are active, use whole words, and nothing can be wrong. `base` is added
// to their addresses.
bool Memory::note_warp(const Request &request, LastUses &uses, std::uint64_t base) const {
  const Block &block = request.warp.block;
  const bool shared = &uses == &block.shared_uses;
  if (request.mask != all_lanes || request.strong || request.size < 4 || (base & 3) ||
      (request.high + base) >> 33 || !block.only_full ||
      (!shared && (!block.alone || block.acquired)) ||
      !uses.by_words(request.low + base, request.high + base + request.size))
    return false;
  alignas(64) std::uint32_t index[lanes_of_warp];
  // What other blocks left in shared memory does not count.
  WarpUse use{index, me_, shared ? 0 : block.floor, block.full_floor, place_};
  const auto note = request.operation == Operation::load ? warp_.load : warp_.store;
  for (unsigned part = 0; part < request.size; part += 4) {
    for (unsigned k = 0; k < lanes_of_warp; ++k)
      index[k] = static_cast<std::uint32_t>((request.addresses[k] + base + part) >> 2);
    // Words that were recorded already are not checked again.
    if (!note(uses.words, use)) return false;
  }
  return true;
}

void Memory::check_race(Request &request, LastUses &uses, std::uint64_t offset,
                        const Place &place) {
  if ((request.size < 4 || (offset & 3)) && !uses.by_bytes(offset)) uses.split(offset);
  if (uses.by_bytes(offset)) [[unlikely]] {
    for (unsigned part = 0; part < request.size; ++part)
      use(request, uses.bytes, offset + part, part, 1, place);
  } else {
    for (unsigned part = 0; part < request.size; part += 4)
      use(request, uses.words, (offset + part) >> 2, part, 4, place);
  }
}

bool Memory::ordered_anyhow(const Block &block, const Warp &warp, unsigned lane, Stamp then,
                            bool shared) const {
  const Stamp interval = then >> stamp_shift;
  if (is_copying(interval)) return false;
  std::uint32_t epoch, other_warp;
  if (block.in_stretch(interval)) {
    epoch = block.epoch_of(interval);
    other_warp = block.warp_of(interval);
  } else {
    if (!shared && interval < block.floor && !block.acquired) return false;
    if (block.alone && interval >= block.floor && interval < block.full_floor) return true;
    const Interval found = launch_.intervals.find(interval);
    if (found.block != block.index)
      return block.acquired &&
             launch_.intervals.released_before(found.block, found.epoch, block.acquired);
    epoch = found.epoch;
    other_warp = found.warp;
  }
  if (other_warp == warp.index && (then & 31) == lane) return true;
  return block.knowledge.knows(warp.index, lane, other_warp, then & 31, epoch);
}

// Whether a use by another thread, or by this one in another interval, comes before what this one
// does now. The numbers alone decide the usual cases.
inline bool Memory::ordered(const Block &block, const Warp &warp, unsigned lane, Stamp then,
                            bool shared) const {
  const Stamp interval = then >> stamp_shift;
  if (interval == me_ >> stamp_shift) return false;
  if (shared || block.in_stretch(interval)) {
    if (interval < block.full_floor) return true;
    // Since the last barrier of the whole block no threads were joined, so each warp has one
    // interval.
    if (block.only_full) return false;
  }
  return ordered_anyhow(block, warp, lane, then, shared);
}

// The likeliest first: no thread was here, or this one was.
inline void Memory::use(Request &request, LastUse &last, std::uint64_t unit, unsigned part,
                        unsigned size, const Place &place) {
  const Warp &warp = request.warp;
  const Block &block = warp.block;
  const Stamp me = me_ | place.lane;
  const Stamp writer = last.writer[unit];
  const bool strong = request.strong;
  if (writer && (writer & ~stamp_flag) != me && !(strong && writer & stamp_flag) &&
      !ordered(block, warp, place.lane, writer, place.shared) &&
      !(request.operation == Operation::store && same_value(request, writer, part, size, place)))
    report_race(request, place, part, size, writer, last.writer_place[unit], true);
  const Stamp reader = last.reader[unit];
  if (request.operation == Operation::load) {
    // Strong loads look for flags of other threads. What they read is not plain data.
    if (strong || (reader & ~stamp_flag) == me) return;
    const bool others = reader && !ordered(block, warp, place.lane, reader, place.shared);
    last.reader[unit] = me | (others ? stamp_flag : 0);
    last.reader_place[unit] = place_;
    return;
  }
  if (reader) {
    const bool by_me = (reader & ~stamp_flag) == me;
    const bool unordered = by_me ? (reader & stamp_flag) != 0
                                 : !ordered(block, warp, place.lane, reader, place.shared);
    if (unordered && !same_value(request, 0, part, size, place))
      report_race(request, place, part, size, by_me ? 0 : reader, last.reader_place[unit], false);
  }
  last.writer[unit] = me | (strong ? stamp_flag : 0);
  last.writer_place[unit] = place_;
  last.reader[unit] = 0;
}

// Several threads may write the same value: usually a flag.
bool Memory::same_value(const Request &request, Stamp other, unsigned part, unsigned size,
                        const Place &place) const {
  if (!request.values) return false;
  const std::byte *mine = request.values + std::size_t{place.lane} * request.stride + part;
  // Another lane in the same instruction has not written yet.
  if (other && (other >> stamp_shift) == (me_ >> stamp_shift)) {
    const unsigned lane = other & 31;
    if ((request.mask >> lane & 1) && request.addresses[lane] == request.addresses[place.lane])
      return std::memcmp(mine, request.values + std::size_t{lane} * request.stride + part, size) ==
             0;
  }
  return std::memcmp(mine, place.bytes + part, size) == 0;
}

void Memory::report_race(Request &request, const Place &place, unsigned part, unsigned size,
                         Stamp other, std::uint32_t other_place, bool other_write) {
  if (worker_.known(FindingKind::race, place_)) return;
  Finding finding;
  finding.kind = FindingKind::race;
  finding.place = request.warp.place();
  finding.thread = request.warp.thread_of(place.lane);
  finding.write = request.operation != Operation::load;
  finding.other_write = other_write;
  finding.address = place.address + part;
  finding.size = size;
  finding.space = place.shared ? Space::shared : Space::global;
  if (is_copying(other >> stamp_shift)) {
    const Stamp warp = last_interval - (other >> stamp_shift);
    finding.other_known = true;
    finding.other_thread =
        launch_.thread_at(request.warp.block.index, warp * lanes_of_warp + (other & 31));
    finding.other_place = launch_.place_of(other_place);
    finding.detail = "It has not waited for what it copies.";
  } else if (other) {
    const Interval who = launch_.intervals.find(other >> stamp_shift);
    finding.other_known = true;
    finding.other_thread = launch_.thread_at(who.block, who.warp * lanes_of_warp + (other & 31));
    finding.other_place = launch_.place_of(other_place);
  }
  worker_.find_out(std::move(finding), place_);
}

void Memory::report_unwritten(Request &request, const Place &place) {
  const std::uint32_t at = instruction_of(request.warp);
  if (worker_.known(FindingKind::never_written, at)) return;
  Finding finding;
  finding.kind = FindingKind::never_written;
  finding.place = request.warp.place();
  finding.thread = request.warp.thread_of(place.lane);
  finding.address = place.address;
  finding.size = request.size;
  finding.space = place.shared ? Space::shared : Space::global;
  worker_.find_out(std::move(finding), at);
}

}  // namespace simcuda::kernel
