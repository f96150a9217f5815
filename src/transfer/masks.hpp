// SPDX-License-Identifier: BSD-3-Clause
// Masks in work on arrays: the elements and the mask are each an array.
#pragma once

#include <vector>

#include "cai.h"

namespace cai::transfer {

// The array without its mask.
cai_array without_mask(const cai_array &array) noexcept;

// Prepares two masks to be copied, or one to be filled: broadcasts the mask of `from` to the shape
// of `to`'s, and turns bits into bytes. It points into `from` and `to`, and must not be moved.
class MaskCopy {
 public:
  // `from` may have no mask: then all elements of `to` become valid.
  MaskCopy(const cai_array &from, const cai_array &to);
  MaskCopy(const MaskCopy &) = delete;
  MaskCopy &operator=(const MaskCopy &) = delete;

  bool fills() const noexcept { return fills_; }
  const cai_array &from() const noexcept { return from_; }
  const cai_array &to() const noexcept { return to_; }
  // A mask element that is true.
  const unsigned char *value() const noexcept { return value_.data(); }

 private:
  void require_pair(const cai_array &from, const cai_array &to) const;
  void broadcast() noexcept;
  void turn_into_bytes();
  void say_true();

  bool fills_;
  cai_array from_{};
  cai_array to_{};
  int64_t strides_[CAI_MAX_NDIM];  // of from_, if it is broadcast
  int64_t bytes_ = 0;
  std::vector<unsigned char> value_;
};

}  // namespace cai::transfer
