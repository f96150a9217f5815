// SPDX-License-Identifier: BSD-3-Clause
// Masks in work on arrays: the elements, and the mask, each as an array of its own.
#pragma once

#include <vector>

#include "cai.h"

namespace cai::transfer {

// The elements alone, the valid ones and the others.
cai_array without_mask(const cai_array &array) noexcept;

// What makes two masks a pair to copy between, or one a mask to fill: the mask of `from`, of the
// shape of `to`'s. Bits become bytes. It points into `from` and `to`, and is not to be moved.
class MaskCopy {
 public:
  // `from` may have no mask: all of `to`'s elements become valid.
  MaskCopy(const cai_array &from, const cai_array &to);
  MaskCopy(const MaskCopy &) = delete;
  MaskCopy &operator=(const MaskCopy &) = delete;

  bool fills() const noexcept { return fills_; }
  const cai_array &from() const noexcept { return from_; }
  const cai_array &to() const noexcept { return to_; }
  // An element that says true.
  const unsigned char *value() const noexcept { return value_.data(); }

 private:
  void require_pair(const cai_array &from, const cai_array &to) const;
  void broadcast() noexcept;
  void turn_into_bytes();
  void say_true();

  bool fills_;
  cai_array from_{};
  cai_array to_{};
  int64_t strides_[CAI_MAX_NDIM];  // of from_, where it is repeated
  int64_t bytes_ = 0;
  std::vector<unsigned char> value_;
};

}  // namespace cai::transfer
