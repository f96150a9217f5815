// SPDX-License-Identifier: BSD-3-Clause
// What follows from shape, strides and item size.
#pragma once

#include <cstdint>

#include "cai.h"
#include "core/checked.hpp"

namespace cai {

// Which of the two is invalid: a negative extent, or a size that does not fit in 63 bits.
enum class LayoutFault { none, shape, strides };

// The size and the range of all elements, in the unit of the item size: bytes, or bits for 't'.
struct Extent {
  int64_t units = 0;  // of all elements; 0 if there are none, and then lo and hi are 0, too
  int64_t lo = 0;     // the elements lie in [lo, hi), relative to the first one
  int64_t hi = 0;

  bool empty() const noexcept { return units == 0; }
  void bits_to_bytes() noexcept {
    units = units / 8 + (units % 8 != 0);
    lo = lo / 8 - (lo % 8 != 0);
    hi = hi / 8 + (hi % 8 != 0);
  }
};

// Whether the strides are C order's and there are elements, whose size fits: then `units` receives
// it. Most arrays are like this, so it looks at all axes without branches, which takes the least
// time.
[[nodiscard]] inline bool has_c_order(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                      uint32_t itemsize, int64_t *units) noexcept {
  int64_t product = itemsize, signs = 0, differences = 0;
  bool overflows = false;
#pragma GCC unroll 2
  for (int64_t axis = ndim; axis != 0; --axis) {
    signs |= shape[axis - 1];
    differences |= strides[axis - 1] ^ product;
    overflows |= !multiply(product, shape[axis - 1], &product);
  }
  *units = product;
  return ((signs & INT64_MIN) | differences | overflows) == 0 && product != 0;
}

// Inline, because it runs for every array that is read or validated.
[[nodiscard]] inline LayoutFault compute_extent(int32_t ndim, const int64_t *shape,
                                                const int64_t *strides, uint32_t itemsize,
                                                Extent *out) noexcept {
  int64_t units;
  if (has_c_order(ndim, shape, strides, itemsize, &units)) {
    *out = {units, 0, units};
    return LayoutFault::none;
  }
  units = itemsize;
  int64_t lo = 0, hi = units;
  bool empty = false, strides_fit = true;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    const int64_t extent = shape[axis];
    if (extent > 1) {
      // NumPy refuses a shape whose nonzero extents overflow, even if another extent is 0. So do
      // we.
      if (!multiply(units, extent, &units)) return LayoutFault::shape;
      int64_t span;
      // NOLINTNEXTLINE(clang-analyzer-core.*): callers have a stride for each extent
      if (!multiply(strides[axis], extent - 1, &span) ||
          !(span < 0 ? add(lo, span, &lo) : add(hi, span, &hi))) {
        strides_fit = false;  // valid if there are no elements
      }
    } else if (extent != 1) {
      if (extent < 0) return LayoutFault::shape;
      empty = true;
    }
  }
  if (empty) {
    *out = {};
    return LayoutFault::none;
  }
  *out = {units, lo, hi};
  int64_t whole;  // for callers that compute hi - lo
  if (__builtin_sub_overflow(hi, lo, &whole)) return LayoutFault::strides;
  return strides_fit ? LayoutFault::none : LayoutFault::strides;
}

// Whether the strides are those of C or Fortran order. The extent must have been computed, and must
// not be empty. The stride of an axis of extent 1 does not matter.
bool is_c_contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides,
                     uint32_t itemsize) noexcept;
bool is_f_contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides,
                     uint32_t itemsize) noexcept;

// Fills in the strides of C order, in the unit of itemsize, as NumPy does: an extent of 0 counts as
// 1. `units` receives the total size, 0 if an extent is 0.
[[nodiscard]] LayoutFault fill_c_strides(int32_t ndim, const int64_t *shape, uint32_t itemsize,
                                         int64_t *strides, int64_t *units) noexcept;

// Reports which of an array's dimensions, pointers, item size and sizes is invalid.
[[gnu::cold]] cai_status dims_fault(const cai_array &array, cai_error *error) noexcept;

// The extent in bytes of an array that has not been validated.
inline cai_status extent_of(const cai_array &array, Extent *out, cai_error *error) noexcept {
  const int32_t ndim = array.ndim;
  const bool readable =
      ndim == 0 || (ndim > 0 && ndim <= CAI_MAX_NDIM && array.shape && array.strides);
  if (!readable || array.dtype.itemsize == 0 ||
      compute_extent(ndim, array.shape, array.strides, array.dtype.itemsize, out) !=
          LayoutFault::none) {
    return dims_fault(array, error);
  }
  if (array.dtype.kind == 't') out->bits_to_bytes();
  return CAI_OK;
}

inline bool has_no_elements(const cai_array &array) noexcept {
  for (int32_t axis = 0; axis < array.ndim; ++axis) {
    if (array.shape[axis] == 0) return true;
  }
  return false;
}

// Whether [data + lo, data + hi) leaves the 64-bit address space.
inline bool extent_wraps(uint64_t data, const Extent &extent) noexcept {
  const auto below = uint64_t{0} - static_cast<uint64_t>(extent.lo);
  const auto above = static_cast<uint64_t>(extent.hi);
  return data < below || (above != 0 && data > UINT64_MAX - (above - 1));
}

// Whether `from` can be broadcast to `to` by NumPy's rules.
bool broadcasts(const int64_t *from, int32_t from_ndim, const int64_t *to,
                int32_t to_ndim) noexcept;

}  // namespace cai
