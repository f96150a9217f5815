// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/masks.hpp"

#include <algorithm>
#include <cfloat>
#include <cstring>

#include "core/layout.hpp"
#include "core/overlap.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"
#include "exchange/host_address.hpp"
#include "transfer/work.hpp"

namespace cai::transfer {
namespace {

constexpr int64_t one_byte = 1;

Failure refusal(cai_status status, const char *why) {
  return Failure(status, {CAI_ENTRY_MASK}, "mask: %s", why);
}

int64_t elements_of(const cai_array &array) noexcept {
  int64_t count = 1;
  for (int32_t axis = 0; axis < array.ndim; ++axis) count *= array.shape[axis];
  return count;
}

bool same_shape(const cai_array &a, const cai_array &b) noexcept {
  return a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape);
}

}  // namespace

cai_array without_mask(const cai_array &array) noexcept {
  cai_array elements = array;
  elements.mask = nullptr;
  elements.flags &= ~uint32_t{CAI_FLAG_MASKED};
  return elements;
}

MaskCopy::MaskCopy(const cai_array &from, const cai_array &to)
    : fills_(from.mask == nullptr), to_(mask_of(to)) {
  if (!fills_) from_ = mask_of(from);
  require_pair(from, to);
  if (to_.dtype.kind == 't') {
    turn_into_bytes();
  } else if (!fills_) {
    broadcast();
  }
  if (fills_) say_true();
}

void MaskCopy::require_pair(const cai_array &from, const cai_array &to) const {
  if (to_.flags & CAI_FLAG_READONLY) throw refusal(CAI_ERR_VALUE, "that of to is read-only");
  if (overlaps_itself(to_)) throw refusal(CAI_ERR_LAYOUT, "elements of to's mask overlap");
  const auto clash = [this](const cai_array &other) {
    return overlap(exchange::as_host_finds(to_), exchange::as_host_finds(without_mask(other)));
  };
  if (clash(to) || clash(from)) throw refusal(CAI_ERR_LAYOUT, "that of to overlaps elements");
  if (fills_) return;
  if (clash(from_) ||
      overlap(exchange::as_host_finds(without_mask(to)), exchange::as_host_finds(from_))) {
    throw refusal(CAI_ERR_LAYOUT, "from and to overlap");
  }
  if (!same_dtype(from_.dtype, to_.dtype)) {
    throw refusal(CAI_ERR_VALUE, "those of from and to are of different types");
  }
  const bool fits = to_.dtype.kind == 't'
                        ? same_shape(from_, to_)
                        : broadcasts(from_.shape, from_.ndim, to_.shape, to_.ndim);
  if (fits) return;
  throw Failure(CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                "mask: that of from has shape %s, which does not fit to's, %s",
                Printed(from_.shape, from_.ndim).c_str(), Printed(to_.shape, to_.ndim).c_str());
}

// Axes that the mask of `from` lacks, or that have extent 1, are repeated.
void MaskCopy::broadcast() noexcept {
  const int32_t more = to_.ndim - from_.ndim;
  for (int32_t axis = 0; axis < to_.ndim; ++axis) {
    const bool repeats = axis < more || from_.shape[axis - more] != to_.shape[axis];
    strides_[axis] = repeats ? 0 : from_.strides[axis - more];
  }
  from_.ndim = to_.ndim;
  from_.shape = to_.shape;
  from_.strides = strides_;
}

// A byte that is shared with other bits cannot be written.
void MaskCopy::turn_into_bytes() {
  const int64_t bits = elements_of(to_);
  if (bits % 8 != 0) throw refusal(CAI_ERR_UNSUPPORTED, "its bits end within a byte");
  bytes_ = bits / 8;
  for (cai_array *const mask : {&from_, &to_}) {
    mask->dtype = {'u', '|', 0, 0, 1, 0};
    mask->ndim = 1;
    mask->shape = &bytes_;
    mask->strides = &one_byte;
  }
  value_.assign(1, 0xFF);
}

void MaskCopy::say_true() {
  if (!value_.empty()) return;
  const cai_dtype &dtype = to_.dtype;
  value_.assign(dtype.itemsize, 0);
  if (dtype.kind != 'f' && dtype.kind != 'c') {
    value_[dtype.byteorder == '>' ? dtype.itemsize - 1 : 0] = 1;
    return;
  }
  const uint32_t size = dtype.kind == 'c' ? dtype.itemsize / 2 : dtype.itemsize;
  constexpr uint16_t half = 0x3C00;
  constexpr float single = 1;
  constexpr double twice = 1;
  constexpr long double most = 1;  // of which x86 uses ten bytes
  const void *const one = size == 2   ? static_cast<const void *>(&half)
                          : size == 4 ? static_cast<const void *>(&single)
                          : size == 8 ? static_cast<const void *>(&twice)
                                      : static_cast<const void *>(&most);
  std::memcpy(value_.data(), one, LDBL_MANT_DIG == 64 ? std::min<uint32_t>(size, 10) : size);
  if (is_swapped(dtype)) std::reverse(value_.begin(), value_.begin() + size);
}

}  // namespace cai::transfer
