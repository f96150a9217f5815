// SPDX-License-Identifier: BSD-3-Clause
#include "race_history.h"

#include <algorithm>

namespace simcuda {

void History::split(std::uintptr_t at) {
  auto next = segments_.upper_bound(at);
  if (next == segments_.begin()) return;
  auto segment = std::prev(next);
  if (segment->first == at || segment->second.end <= at) return;
  segments_.emplace_hint(next, at, segment->second);
  segment->second.end = at;
}

// Joins this segment and the one before, if they touch and have the same uses.
History::Segments::iterator History::join_before(Segments::iterator segment) {
  if (segment == segments_.begin() || segment == segments_.end()) return segment;
  auto before = std::prev(segment);
  const bool alike =
      before->second.uses == segment->second.uses || *before->second.uses == *segment->second.uses;
  if (before->second.end != segment->first || !alike) return segment;
  before->second.end = segment->second.end;
  segments_.erase(segment);
  return before;
}

void History::change(std::uintptr_t begin, std::uintptr_t end, const Change &change) {
  split(begin);
  split(end);
  auto segment = segments_.lower_bound(begin);
  for (auto at = begin; at < end;) {
    const bool gap = segment == segments_.end() || segment->first > at;
    const auto until = gap ? std::min(end, segment == segments_.end() ? end : segment->first)
                           : segment->second.end;
    UsesPtr uses = change(gap ? nullptr : segment->second.uses, at, until);
    if (!uses) {
      if (!gap) segment = segments_.erase(segment);
    } else {
      if (gap)
        segment = segments_.emplace_hint(segment, at, Segment{until, std::move(uses)});
      else
        segment->second.uses = std::move(uses);
      segment = std::next(join_before(segment));
    }
    at = until;
  }
  join_before(segment);
}

void History::sweep(const Change &change) {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    UsesPtr uses = change(segment->second.uses, segment->first, segment->second.end);
    if (!uses) {
      segment = segments_.erase(segment);
      continue;
    }
    segment->second.uses = std::move(uses);
    segment = std::next(join_before(segment));
  }
  limit_ = std::max<std::size_t>(1024, 2 * segments_.size());
}

}  // namespace simcuda
