// SPDX-License-Identifier: BSD-3-Clause
#include "core/overlap.hpp"

#include <algorithm>

#include "core/layout.hpp"

namespace cai {
namespace {

__extension__ using Wide = __int128;  // no sum of addresses and strides overflows

// Answers: is there a sum of `count` terms, each 0 to `most` times `step`, in [low, high]? Tries
// the longest steps first, and only those values that can still lead to the range.
class Sums {
 public:
  void add(Wide step, Wide most) noexcept {
    if (step != 0 && most > 0) terms_[count_++] = {step < 0 ? -step : step, most, 0};
  }

  // Must be called once, after all calls of add().
  bool reach(Wide low, Wide high) noexcept {
    std::sort(terms_, terms_ + count_,
              [](const Term &a, const Term &b) { return a.step > b.step; });
    Wide rest = 0;
    for (int32_t i = count_ - 1; i >= 0; --i) {
      terms_[i].rest = rest;
      rest += terms_[i].step * terms_[i].most;
    }
    return low <= rest && reach(0, low, high);
  }

 private:
  struct Term {
    Wide step;
    Wide most;
    Wide rest;  // the largest sum of the terms after this one
  };

  bool reach(int32_t i, Wide low, Wide high) noexcept {
    if (high < 0) return false;
    if (low <= 0) return true;  // always so after the last term: see `least`
    if (--tries_ < 0) return true;
    const Term &term = terms_[i];
    const Wide least = low <= term.rest ? 0 : (low - term.rest + term.step - 1) / term.step;
    const Wide most = std::min<Wide>(term.most, high / term.step);
    for (Wide times = most; times >= least; --times) {
      if (reach(i + 1, low - times * term.step, high - times * term.step)) return true;
    }
    return false;
  }

  Term terms_[2 * CAI_MAX_NDIM];
  int32_t count_ = 0;
  int64_t tries_ = 100'000;
};

int64_t itemsize_of(const cai_array &array) noexcept {
  return static_cast<int64_t>(array.dtype.itemsize);
}

Wide length_of(int64_t stride) noexcept {
  return stride < 0 ? -Wide{stride} : Wide{stride};
}

// Whether each stride exceeds the whole range of the shorter ones: then nothing overlaps.
bool is_nested(const cai_array &array) noexcept {
  struct Step {
    Wide length;
    int64_t extent;
  };
  Step steps[CAI_MAX_NDIM];
  int32_t count = 0;
  for (int32_t i = 0; i < array.ndim; ++i) {
    if (array.shape[i] > 1) steps[count++] = {length_of(array.strides[i]), array.shape[i]};
  }
  std::sort(steps, steps + count, [](const Step &a, const Step &b) { return a.length < b.length; });
  Wide span = itemsize_of(array);
  for (int32_t i = 0; i < count; ++i) {
    if (steps[i].length < span) return false;
    span += steps[i].length * (steps[i].extent - 1);
  }
  return true;
}

// The bytes from the first element to the lowest one, and those above the highest one.
void bounds_of(const cai_array &array, Wide *low, Wide *high) noexcept {
  *low = *high = static_cast<Wide>(array.data);
  for (int32_t i = 0; i < array.ndim; ++i) {
    const Wide span = Wide{array.strides[i]} * (array.shape[i] - 1);
    (span < 0 ? *low : *high) += span;
  }
  *high += itemsize_of(array);
}

// Turns bits, which are always contiguous, into the bytes that contain them; leaves other elements
// as they are.
class InBytes {
 public:
  explicit InBytes(const cai_array &array) noexcept : array_(array) {
    if (array.dtype.kind != 't') return;
    for (int32_t i = 0; i < array.ndim; ++i) count_ *= array.shape[i];
    count_ = count_ / 8 + (count_ % 8 != 0);
    array_.ndim = 1;
    array_.shape = &count_;
    array_.strides = &one_byte;
  }
  InBytes(const InBytes &) = delete;
  InBytes &operator=(const InBytes &) = delete;

  const cai_array &operator*() const noexcept { return array_; }

 private:
  static constexpr int64_t one_byte = 1;
  cai_array array_;
  int64_t count_ = 1;
};

}  // namespace

bool overlaps_itself(const cai_array &array) noexcept {
  if (has_no_elements(array) || is_nested(array)) return false;
  // Two elements that first differ on `axis`, by 1 to extent - 1, and by any amount on the axes
  // after it. Shifted so that all counts begin at 0.
  const int64_t itemsize = itemsize_of(array);
  for (int32_t axis = 0; axis < array.ndim; ++axis) {
    if (array.shape[axis] < 2) continue;
    Sums sums;
    const Wide step = length_of(array.strides[axis]);
    if (step == 0) return true;
    Wide shift = -step;
    sums.add(step, array.shape[axis] - 2);
    for (int32_t i = axis + 1; i < array.ndim; ++i) {
      const Wide most = array.shape[i] - 1;
      sums.add(array.strides[i], 2 * most);
      shift += length_of(array.strides[i]) * most;
    }
    if (sums.reach(shift - itemsize + 1, shift + itemsize - 1)) return true;
  }
  return false;
}

bool overlap(const cai_array &given_a, const cai_array &given_b) noexcept {
  if (has_no_elements(given_a) || has_no_elements(given_b)) return false;
  const InBytes in_a(given_a), in_b(given_b);
  const cai_array &a = *in_a, &b = *in_b;
  Wide a_low, a_high, b_low, b_high;
  bounds_of(a, &a_low, &a_high);
  bounds_of(b, &b_low, &b_high);
  if (a_high <= b_low || b_high <= a_low) return false;
  // From the lowest byte of each array: is there an element of `a` at x and one of `b` at y, with
  // -itemsize(a) < x - y < itemsize(b)? Elements of `b` are counted backwards from its highest one.
  Sums sums;
  for (const cai_array *const array : {&a, &b}) {
    for (int32_t i = 0; i < array->ndim; ++i) sums.add(array->strides[i], array->shape[i] - 1);
  }
  const Wide target = (b_high - itemsize_of(b)) - a_low;
  return sums.reach(target - itemsize_of(a) + 1, target + itemsize_of(b) - 1);
}

}  // namespace cai
