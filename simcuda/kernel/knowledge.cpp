// SPDX-License-Identifier: BSD-3-Clause
#include "knowledge.h"

#include <algorithm>
#include <bit>

namespace simcuda::kernel {
namespace {

constexpr std::size_t most_places = 4096;  // told apart; all others count as one
constexpr std::uint64_t elsewhere = ~std::uint64_t{};
constexpr std::size_t most_seen = 16;  // by a thread, between two fences; then it acquires at once

template <class F>
void each_lane(std::uint32_t lanes, F f) {
  for (; lanes; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

void join(std::uint32_t *into, const std::uint32_t *from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

Knowledge::Knowledge(std::uint32_t warps)
    : warps_(warps),
      whole_(std::size_t{warps} * warps),
      detailed_(warps),
      fenced_(std::size_t{warps} * 32) {}

void Knowledge::begin() {
  meet_all(0);
  std::fill(fenced_.begin(), fenced_.end(), 0);
}

void Knowledge::meet_all(std::uint32_t epoch) {
  std::fill(whole_.begin(), whole_.end(), epoch);
  all_met_ = epoch;
  if (!rows_.empty()) {
    rows_.clear();
    std::fill(rows_of_.begin(), rows_of_.end(), 0);
    std::fill(detailed_.begin(), detailed_.end(), 0);
  }
  fences_ = false;
  told_.clear();
  seen_.clear();
}

Knowledge::Row &Knowledge::row(unsigned thread, unsigned of_warp) {
  rows_of_.resize(std::size_t{warps_} * 32 * warps_);
  std::uint32_t &number = rows_of_[thread * warps_ + of_warp];
  if (!number) {
    rows_.emplace_back().fill(whole_[thread / 32 * warps_ + of_warp]);
    number = static_cast<std::uint32_t>(rows_.size());
    detailed_[thread / 32] |= std::uint32_t{1} << of_warp;
  }
  return rows_[number - 1];
}

void Knowledge::meet(const LanesByWarp &lanes, std::uint32_t epoch, const Clock &others) {
  std::uint32_t detailed = 0;
  std::vector<unsigned> met;
  for (unsigned w = 0; w < warps_; ++w) {
    if (!lanes[w]) continue;
    met.push_back(w);
    // A barrier is a fence, too.
    learn_seen(w, lanes[w]);
    detailed |= detailed_[w];
  }
  for (unsigned of = 0; of < warps_; ++of) {
    // Of other warps, the lanes of one warp know the same.
    if (met.size() == 1 && of != met[0] && !(detailed >> of & 1) && others.empty()) continue;
    Row known{};
    if (!others.empty()) std::copy_n(others.data() + of * 32, 32, known.data());
    std::uint32_t least = 0;
    for (unsigned w : met) {
      least = std::max(least, whole_[w * warps_ + of]);
      if (detailed >> of & 1)
        each_lane(lanes[w], [&](unsigned lane) {
          if (const Row *its = find(w * 32 + lane, of)) join(known.data(), its->data(), 32);
        });
    }
    for (std::uint32_t &each : known) each = std::max(each, least);
    each_lane(lanes[of], [&](unsigned lane) { known[lane] = epoch; });
    const auto all_are = [&](std::uint32_t value) {
      return std::all_of(known.begin(), known.end(), [=](auto each) { return each == value; });
    };
    const bool uniform = all_are(known[0]);
    for (unsigned w : met) {
      std::uint32_t &whole = whole_[w * warps_ + of];
      if (all_are(whole)) continue;
      if (lanes[w] == ~0u && uniform)
        whole = known[0];
      else
        each_lane(lanes[w], [&](unsigned lane) { row(w * 32 + lane, of) = known; });
    }
  }
}

void Knowledge::tell(unsigned warp, std::uint32_t lanes, Clock &clock) const {
  clock.resize(std::size_t{warps_} * 32);
  for (unsigned of = 0; of < warps_; ++of) {
    std::uint32_t *const its = clock.data() + of * 32;
    for (unsigned k = 0; k < 32; ++k) its[k] = std::max(its[k], whole_[warp * warps_ + of]);
    if (detailed_[warp] >> of & 1)
      each_lane(lanes, [&](unsigned lane) {
        if (const Row *known = find(warp * 32 + lane, of)) join(its, known->data(), 32);
      });
  }
}

void Knowledge::arrive(unsigned warp, std::uint32_t lanes, std::uint32_t epoch,
                       Clock &clock) const {
  tell(warp, lanes, clock);
  each_lane(lanes, [&](unsigned lane) { clock[warp * 32 + lane] = epoch; });
}

void Knowledge::learn(unsigned thread, const Clock &clock) {
  for (unsigned of = 0; of < warps_; ++of) {
    const std::uint32_t *const its = clock.data() + of * 32;
    const std::uint32_t whole = whole_[thread / 32 * warps_ + of];
    std::uint32_t more = 0;
    for (unsigned k = 0; k < 32; ++k) more |= its[k] > whole;
    if (more) join(row(thread, of).data(), its, 32);
  }
}

void Knowledge::learn_seen(unsigned warp, std::uint32_t lanes) {
  if (seen_.empty()) return;
  each_lane(lanes, [&](unsigned lane) {
    auto &seen = seen_[warp * 32 + lane];
    for (std::uint64_t place : seen) learn(warp * 32 + lane, told_.at(place));
    seen.clear();
  });
}

void Knowledge::fence(unsigned warp, std::uint32_t lanes, std::uint32_t epoch) {
  each_lane(lanes, [&](unsigned lane) { fenced_[warp * 32 + lane] = epoch + 1; });
  fences_ = true;
  learn_seen(warp, lanes);
}

void Knowledge::read(unsigned warp, std::uint32_t lanes, std::uint64_t place, bool acquires) {
  if (told_.empty()) return;
  if (!told_.contains(place)) {
    place = elsewhere;
    if (!told_.contains(place)) return;
  }
  seen_.resize(std::size_t{warps_} * 32);
  each_lane(lanes, [&](unsigned lane) {
    const unsigned thread = warp * 32 + lane;
    auto &seen = seen_[thread];
    if (acquires || seen.size() == most_seen) return learn(thread, told_.at(place));
    if (std::find(seen.begin(), seen.end(), place) == seen.end()) seen.push_back(place);
  });
}

Clock &Knowledge::told(std::uint64_t place) {
  if (told_.size() >= most_places && !told_.contains(place)) place = elsewhere;
  return told_[place];
}

bool Knowledge::wrote(unsigned warp, std::uint32_t lanes, std::uint64_t place, bool releases,
                      std::uint32_t epoch) {
  lanes = telling(warp, lanes, releases, epoch);
  return lanes && pass_on(warp, lanes, releases, epoch, told(place));
}

// A thread without a fence since the last common barrier has nothing to pass on.
std::uint32_t Knowledge::telling(unsigned warp, std::uint32_t lanes, bool releases,
                                 std::uint32_t epoch) const {
  std::uint32_t telling = 0;
  each_lane(lanes, [&](unsigned lane) {
    telling |= std::uint32_t{told_until(warp * 32 + lane, releases, epoch) > all_met_} << lane;
  });
  return telling;
}

bool Knowledge::pass_on(unsigned warp, std::uint32_t lanes, bool releases, std::uint32_t epoch,
                        Clock &clock) const {
  lanes = telling(warp, lanes, releases, epoch);
  if (!lanes) return false;
  tell(warp, lanes, clock);
  std::uint32_t last = 0;
  each_lane(lanes, [&](unsigned lane) {
    const std::uint32_t until = told_until(warp * 32 + lane, releases, epoch);
    std::uint32_t &its = clock[warp * 32 + lane];
    its = std::max(its, until);
    last = std::max(last, until);
  });
  return last > epoch;
}

void Knowledge::leave(std::uint64_t place, const Clock &clock) {
  if (clock.empty()) return;
  Clock &its = told(place);
  its.resize(clock.size());
  join(its.data(), clock.data(), clock.size());
}

}  // namespace simcuda::kernel
