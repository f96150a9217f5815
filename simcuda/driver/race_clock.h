// SPDX-License-Identifier: BSD-3-Clause
// Logical time: a vector clock over lanes. A lane is a line of operations of which each comes after
// the one before: a stream, a branch of a graph that was launched, or the host. All threads of the
// host are one lane: what orders them (a mutex, a join) is invisible to a driver.
#pragma once

#include <cstdint>
#include <memory>

namespace simcuda {

using Lane = std::uint32_t;
using Tick = std::uint64_t;

inline constexpr Lane host_lane = 0;

// How far each lane had come. It is a tree whose nodes never change: a clock that learns a little
// shares the rest with whom it learnt from, and what two trees share is not looked at when they are
// merged.
class Ticks {
 public:
  Tick of(Lane lane) const;
  void raise(Lane lane, Tick to);
  // The later of both, lane by lane.
  void merge(const Ticks &other);
  bool is(const Ticks &other) const { return root_ == other.root_; }

 private:
  struct Node {};
  struct Leaf;
  struct Branch;
  using NodePtr = std::shared_ptr<const Node>;

  static NodePtr raised(const NodePtr &node, unsigned height, Lane lane, Tick to);
  static NodePtr merged(const NodePtr &one, const NodePtr &other, unsigned height);
  void grow(unsigned height);

  NodePtr root_;         // null: nothing is known
  unsigned height_ = 0;  // levels of branches above the leaves
};

// A point of one lane, and how far each other lane had come before it.
struct Moment {
  Lane lane = host_lane;
  Tick tick = 0;
  Tick host = 0;  // apart from the rest: it changes with every call that waits
  Ticks others;

  Tick known(Lane which) const {
    if (which == lane) return tick;
    return which == host_lane ? host : others.of(which);
  }
  bool comes_after(const Moment &other) const { return known(other.lane) >= other.tick; }
  // From here on this comes after `other`, and so after all that `other` comes after.
  void learn(const Moment &other);
  // The same where `other` may know more than that point of its lane did.
  void absorb(const Moment &other);
};

// A point of one lane, and how far all lanes had come by then, its own, too. Many may learn from
// it, one after the other: they then share its ticks.
struct Whole {
  Lane lane = host_lane;
  Tick tick = 0;
  Ticks ticks;
};

// A new moment of a lane, so far the lane's last one, learns from several others: as by `learn`,
// but without merging again what many of them share.
class Learning {
 public:
  Learning(Moment &moment, Whole &last) : moment_(moment), whole_(last) {}
  void from(const Moment &other);

 private:
  Moment &moment_;
  Whole &whole_;
  const Ticks *merged_ = nullptr;
};

}  // namespace simcuda
