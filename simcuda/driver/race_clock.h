// SPDX-License-Identifier: BSD-3-Clause
// Logical time: a vector clock over lanes. A lane is a sequence of operations, each of which comes
// after the one before: a stream, a branch of a launched graph, or the host. All threads of the
// host are one lane: a driver cannot see what orders them (a mutex, a join).
#pragma once

#include <cstdint>
#include <memory>

namespace simcuda {

using Lane = std::uint32_t;
using Tick = std::uint64_t;

inline constexpr Lane host_lane = 0;

// How far each lane had come. A tree whose nodes never change: a clock that learns a little shares
// the rest with the clock that it learnt from, and merging skips what two trees share.
class Ticks {
 public:
  Tick of(Lane lane) const;
  void raise(Lane lane, Tick to);
  // The later of both, for each lane.
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
  Tick host = 0;  // separate from the rest, because it changes with every call that waits
  Ticks others;

  Tick known(Lane which) const {
    if (which == lane) return tick;
    return which == host_lane ? host : others.of(which);
  }
  bool comes_after(const Moment &other) const { return known(other.lane) >= other.tick; }
  // From here on this comes after `other`, and after all that `other` comes after.
  void learn(const Moment &other);
  // The same if `other` may know more than that point of its lane did.
  void absorb(const Moment &other);
};

// A point of one lane, and how far all lanes had come then, its own included. Many may learn from
// it one after the other, and then share its ticks.
struct Whole {
  Lane lane = host_lane;
  Tick tick = 0;
  Ticks ticks;
};

// A new moment of a lane learns from several others: as by `learn`, but without merging what many
// of them share again.
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
