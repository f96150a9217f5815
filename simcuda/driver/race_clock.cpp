// SPDX-License-Identifier: BSD-3-Clause
#include "race_clock.h"

#include <algorithm>
#include <array>

namespace simcuda {
namespace {

constexpr unsigned bits = 4;  // bits of a lane's number for each level
constexpr std::size_t width = std::size_t{1} << bits;

std::size_t place(Lane lane, unsigned height) {
  return (lane >> (bits * height)) % width;
}

}  // namespace

struct Ticks::Leaf : Node {
  std::array<Tick, width> ticks{};
};

struct Ticks::Branch : Node {
  std::array<NodePtr, width> below;
};

Tick Ticks::of(Lane lane) const {
  if (lane >> (bits * height_) >= width) return 0;
  const Node *node = root_.get();
  for (unsigned height = height_; node && height > 0; --height)
    node = static_cast<const Branch *>(node)->below[place(lane, height)].get();
  return node ? static_cast<const Leaf *>(node)->ticks[place(lane, 0)] : 0;
}

// At least this many levels: the existing tree becomes the first part of a taller one.
void Ticks::grow(unsigned height) {
  for (; height_ < height; ++height_) {
    if (!root_) continue;
    auto taller = std::make_shared<Branch>();
    taller->below[0] = std::move(root_);
    root_ = std::move(taller);
  }
}

Ticks::NodePtr Ticks::raised(const NodePtr &node, unsigned height, Lane lane, Tick to) {
  if (height == 0) {
    auto leaf =
        node ? std::make_shared<Leaf>(static_cast<const Leaf &>(*node)) : std::make_shared<Leaf>();
    leaf->ticks[place(lane, 0)] = to;
    return leaf;
  }
  auto branch = node ? std::make_shared<Branch>(static_cast<const Branch &>(*node))
                     : std::make_shared<Branch>();
  auto &below = branch->below[place(lane, height)];
  below = raised(below, height - 1, lane, to);
  return branch;
}

void Ticks::raise(Lane lane, Tick to) {
  if (of(lane) >= to) return;
  unsigned height = 0;
  while (lane >> (bits * height) >= width) ++height;
  grow(height);
  root_ = raised(root_, height_, lane, to);
}

// Returns one of the two if it is the later one everywhere.
Ticks::NodePtr Ticks::merged(const NodePtr &one, const NodePtr &other, unsigned height) {
  if (one == other || !other) return one;
  if (!one) return other;
  if (height == 0) {
    auto leaf = std::make_shared<Leaf>(static_cast<const Leaf &>(*one));
    auto &ticks = leaf->ticks;
    const auto &others = static_cast<const Leaf &>(*other).ticks;
    for (std::size_t i = 0; i < width; ++i) ticks[i] = std::max(ticks[i], others[i]);
    if (ticks == others) return other;
    if (ticks == static_cast<const Leaf &>(*one).ticks) return one;
    return leaf;
  }
  const auto &mine = static_cast<const Branch &>(*one).below;
  const auto &others = static_cast<const Branch &>(*other).below;
  auto branch = std::make_shared<Branch>();
  for (std::size_t i = 0; i < width; ++i) branch->below[i] = merged(mine[i], others[i], height - 1);
  if (branch->below == others) return other;
  if (branch->below == mine) return one;
  return branch;
}

void Ticks::merge(const Ticks &other) {
  Ticks taller = other;
  taller.grow(height_);
  grow(taller.height_);
  root_ = merged(root_, taller.root_, height_);
}

void Moment::learn(const Moment &other) {
  if (!comes_after(other)) absorb(other);
}

void Moment::absorb(const Moment &other) {
  host = std::max(host, other.known(host_lane));
  others.merge(other.others);
  if (other.lane != host_lane) others.raise(other.lane, other.tick);
}

void Learning::from(const Moment &other) {
  if (moment_.comes_after(other)) return;
  if (!merged_ && other.comes_after(moment_)) {
    // Whether it knows everything that this does.
    if (whole_.lane != other.lane || whole_.tick != other.tick) {
      whole_ = {other.lane, other.tick, other.others};
      whole_.ticks.raise(other.lane, other.tick);
    }
    moment_.others = whole_.ticks;
  } else if (merged_ && merged_->is(other.others)) {
    moment_.others.raise(other.lane, other.tick);
  } else {
    moment_.absorb(other);
  }
  moment_.host = std::max(moment_.host, other.host);
  merged_ = &other.others;
}

}  // namespace simcuda
