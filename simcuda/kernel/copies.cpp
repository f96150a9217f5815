// SPDX-License-Identifier: BSD-3-Clause
#include "copies.h"

namespace simcuda::kernel {
namespace {

constexpr std::size_t most_copies = 1 << 16;  // that are distinguished

template <class F>
void each_writer(LastUses &uses, std::uint32_t offset, std::uint32_t size, F f) {
  for (std::uint32_t at = offset; at < offset + size; at += 4) {
    if (!uses.by_bytes(at)) {
      f(uses.words.writer[at >> 2]);
      continue;
    }
    for (std::uint32_t byte = at; byte < at + 4; ++byte) f(uses.bytes.writer[byte]);
  }
}

}  // namespace

void Copies::begin(LastUses &uses, unsigned warp, unsigned lane, std::uint64_t offset,
                   unsigned size) {
  if (begun_.size() == most_copies) return;
  const Copy made{copying(warp) << stamp_shift | lane,
                  static_cast<std::uint32_t>(offset),
                  size,
                  groups_[lane],
                  0,
                  0};
  each_writer(uses, made.offset, size, [&](Stamp &writer) { writer = made.stamp; });
  begun_.push_back(made);
}

void Copies::commit(std::uint32_t lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) groups_[lane] += lanes >> lane & 1;
}

// The bytes are copied already: those that `which` names count as stored by a thread from now on.
template <class F, class G>
void Copies::end(LastUses &uses, F which, G stored_by) {
  std::erase_if(begun_, [&](const Copy &each) {
    const unsigned lane = each.stamp & 31;
    if (!which(each, lane)) return false;
    each_writer(uses, each.offset, each.size, [&](Stamp &writer) {
      if (writer == each.stamp) writer = stored_by(each, lane);
    });
    return true;
  });
}

// What those know who wait for a tracking mbarrier comes first.
auto Copies::stored_when_waited(Stamp now) {
  return [=](const Copy &each, unsigned lane) { return each.tracked ? each.tracked : now | lane; };
}

void Copies::wait(LastUses &uses, std::uint32_t lanes, std::uint32_t but, Stamp now) {
  const auto ended = [&](const Copy &each, unsigned lane) {
    return (lanes >> lane & 1) && std::uint64_t{each.group} + but < groups_[lane];
  };
  end(uses, ended, stored_when_waited(now));
}

void Copies::wait_all(LastUses &uses, std::uint32_t lanes, Stamp now) {
  end(
      uses, [=](const Copy &, unsigned lane) { return lanes >> lane & 1; },
      stored_when_waited(now));
}

void Copies::track(std::uint32_t lanes, Stamp now, std::uint32_t epoch) {
  for (Copy &each : begun_) {
    const unsigned lane = each.stamp & 31;
    if (each.tracked || !(lanes >> lane & 1)) continue;
    each.tracked = now | lane;
    each.tracked_in = epoch;
  }
}

void Copies::end_tracked(LastUses &uses, const std::uint32_t *until) {
  end(
      uses,
      [=](const Copy &each, unsigned lane) {
        return each.tracked && each.tracked_in < until[lane];
      },
      [](const Copy &each, unsigned) { return each.tracked; });
}

void Copies::forget(LastUses &uses) {
  end(
      uses, [](const Copy &, unsigned) { return true; },
      [](const Copy &, unsigned) { return Stamp{0}; });
  groups_ = {};
}

}  // namespace simcuda::kernel
