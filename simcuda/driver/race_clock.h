// SPDX-License-Identifier: BSD-3-Clause
// Logical time: a vector clock over lanes. A lane is a line of operations of which each comes after
// the one before: a stream, a branch of a graph that was launched, or the host. All threads of the
// host are one lane: what orders them (a mutex, a join) is invisible to a driver.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace simcuda {

using Lane = std::uint32_t;
using Tick = std::uint64_t;

inline constexpr Lane host_lane = 0;

// A point of one lane, and how far each other lane had come before it.
struct Moment {
  Lane lane = host_lane;
  Tick tick = 0;
  Tick host = 0;  // apart from the rest: it changes with every call that waits
  std::shared_ptr<const std::vector<Tick>> others;  // shared by moments that learnt nothing new

  Tick known(Lane which) const {
    if (which == lane) return tick;
    if (which == host_lane) return host;
    return others && which < others->size() ? (*others)[which] : 0;
  }
  bool comes_after(const Moment &other) const { return known(other.lane) >= other.tick; }
  // From here on this comes after `other`, and so after all that `other` comes after.
  void learn(const Moment &other);
  // The same where `other` may know more than that point of its lane did.
  void absorb(const Moment &other);
};

}  // namespace simcuda
