// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout.hpp"

#include <cstdint>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace cai {

LayoutFault fill_c_strides(int32_t ndim, const int64_t *shape, uint32_t itemsize, int64_t *strides,
                           int64_t *units) noexcept {
  int64_t step = itemsize;
  bool empty = false;
  for (int32_t axis = ndim; axis-- > 0;) {
    const int64_t extent = shape[axis];
    strides[axis] = step;
    empty = empty || extent == 0;
    if (extent > 1 && !multiply(step, extent, &step)) return LayoutFault::shape;
  }
  *units = empty ? 0 : step;
  return LayoutFault::none;
}

LayoutFault compute_layout(int32_t ndim, const int64_t *shape, const int64_t *strides,
                           uint32_t itemsize, bool bits, cai_layout *out) noexcept {
  // NumPy refuses a shape whose extents above 0 overflow, even if another extent is 0: so do we.
  int64_t units = itemsize;
  int64_t size = 1;  // fits where units does
  int64_t expected = itemsize;
  int64_t lo = 0, hi = itemsize;
  bool empty = false, c_order = true, strides_fit = true;
  for (int32_t axis = ndim; axis-- > 0;) {
    const int64_t extent = shape[axis];
    if (extent > 1) {
      const int64_t stride = strides[axis];
      if (!multiply(units, extent, &units)) return LayoutFault::shape;
      c_order = c_order && stride == expected;
      size *= extent;
      expected = units;
      int64_t span;
      strides_fit = strides_fit && multiply(stride, extent - 1, &span) &&
                    (span < 0 ? add(lo, span, &lo) : add(hi, span, &hi));
    }
    empty = empty || extent == 0;
  }
  if (empty) {
    *out = {0, 0, 0, 0, 1, 1};
    return LayoutFault::none;
  }
  if (!strides_fit) return LayoutFault::strides;

  bool f_order = true;
  expected = itemsize;
  for (int32_t axis = 0; axis < ndim && f_order; ++axis) {
    if (shape[axis] > 1) {
      f_order = strides[axis] == expected;
      expected *= shape[axis];  // a divisor of `units`, which fits
    }
  }
  out->size = size;
  out->nbytes = bits ? units / 8 + (units % 8 != 0) : units;
  out->lo = bits ? lo / 8 - (lo % 8 != 0) : lo;
  out->hi = bits ? hi / 8 + (hi % 8 != 0) : hi;
  out->c_contiguous = c_order;
  out->f_contiguous = f_order;
  return LayoutFault::none;
}

bool extent_wraps(uint64_t data, int64_t lo, int64_t hi) noexcept {
  const auto below = uint64_t{0} - static_cast<uint64_t>(lo);
  const auto above = static_cast<uint64_t>(hi);
  return data < below || (above != 0 && data > UINT64_MAX - (above - 1));
}

bool broadcasts(const int64_t *from, int32_t from_ndim, const int64_t *to, int32_t to_ndim) noexcept {
  if (from_ndim > to_ndim) return false;
  for (int32_t axis = 0; axis < from_ndim; ++axis) {
    const int64_t extent = from[axis];
    if (extent != 1 && extent != to[axis + to_ndim - from_ndim]) return false;
  }
  return true;
}

}  // namespace cai

using namespace cai;

cai_status cai_array_layout(const cai_array *array, cai_layout *out, cai_error *error) {
  if (!array || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "array or out is NULL");
  if (array->abi_major != CAI_ABI_MAJOR) {
    return fail(error, CAI_ERR_VERSION, {}, "the array is of ABI major %d, not %d",
                array->abi_major, CAI_ABI_MAJOR);
  }
  if (array->ndim < 0 || array->ndim > CAI_MAX_NDIM) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE}, "shape has %d dimensions; 0 to %d are allowed",
                array->ndim, CAI_MAX_NDIM);
  }
  if (array->ndim > 0 && (!array->shape || !array->strides)) {
    return fail(error, CAI_ERR_VALUE, {array->shape ? CAI_ENTRY_STRIDES : CAI_ENTRY_SHAPE},
                "%s is NULL, though there are %d dimensions", array->shape ? "strides" : "shape",
                array->ndim);
  }
  if (array->dtype.itemsize == 0) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR}, "typestr has item size 0");
  }
  for (int32_t axis = 0; axis < array->ndim; ++axis) {
    if (array->shape[axis] < 0) {
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE, axis}, "shape[%d] is %lld, below 0", axis,
                  static_cast<long long>(array->shape[axis]));
    }
  }
  cai_layout layout;
  switch (compute_layout(array->ndim, array->shape, array->strides, array->dtype.itemsize,
                         array->dtype.kind == 't', &layout)) {
    case LayoutFault::shape:
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE},
                  "shape %s is too large: the size in bytes does not fit in 63 bits",
                  Printed(array->shape, array->ndim).c_str());
    case LayoutFault::strides:
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STRIDES},
                  "strides %s reach too far: the extent in bytes does not fit in 63 bits",
                  Printed(array->strides, array->ndim).c_str());
    case LayoutFault::none:
      break;
  }
  *out = layout;
  return CAI_OK;
}
