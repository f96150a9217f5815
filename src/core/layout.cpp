// SPDX-License-Identifier: BSD-3-Clause
#include "core/layout.hpp"

#include <cstdint>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/validate.hpp"

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

bool is_c_contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides,
                     uint32_t itemsize) noexcept {
  int64_t expected = itemsize;
  for (int32_t axis = ndim; axis-- > 0;) {
    if (shape[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= shape[axis];  // a divisor of the extent's units, so the quotient fits
  }
  return true;
}

bool is_f_contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides,
                     uint32_t itemsize) noexcept {
  int64_t expected = itemsize;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (shape[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

bool broadcasts(const int64_t *from, int32_t from_ndim, const int64_t *to,
                int32_t to_ndim) noexcept {
  if (from_ndim > to_ndim) return false;
  for (int32_t axis = 0; axis < from_ndim; ++axis) {
    const int64_t extent = from[axis];
    if (extent != 1 && extent != to[axis + to_ndim - from_ndim]) return false;
  }
  return true;
}

cai_status dims_fault(const cai_array &array, cai_error *error) noexcept {
  if (array.ndim < 0 || array.ndim > CAI_MAX_NDIM) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE},
                "shape has %d dimensions; 0 to %d are allowed", array.ndim, CAI_MAX_NDIM);
  }
  if (array.ndim > 0 && (!array.shape || !array.strides)) {
    return fail(error, CAI_ERR_VALUE, {array.shape ? CAI_ENTRY_STRIDES : CAI_ENTRY_SHAPE},
                "%s is NULL, though there are %d dimensions", array.shape ? "strides" : "shape",
                array.ndim);
  }
  if (array.dtype.itemsize == 0) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR}, "typestr has item size 0");
  }
  for (int32_t axis = 0; axis < array.ndim; ++axis) {
    if (array.shape[axis] < 0) {
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE, axis}, "shape[%d] is %lld, below 0", axis,
                  static_cast<long long>(array.shape[axis]));
    }
  }
  Extent extent;
  if (compute_extent(array.ndim, array.shape, array.strides, array.dtype.itemsize, &extent) ==
      LayoutFault::shape) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE},
                "shape %s is too large: the size in bytes does not fit in 63 bits",
                Printed(array.shape, array.ndim).c_str());
  }
  return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STRIDES},
              "strides %s reach too far: the extent in bytes does not fit in 63 bits",
              Printed(array.strides, array.ndim).c_str());
}

}  // namespace cai

using namespace cai;

cai_status cai_array_layout(const cai_array *array, cai_layout *out, cai_error *error) {
  if (!array || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "array or out is NULL");
  if (const cai_status status = validate_version(*array, error)) return status;
  Extent extent;
  if (const cai_status status = extent_of(*array, &extent, error)) return status;
  cai_layout layout{0, extent.units, extent.lo, extent.hi, 1, 1};
  if (!extent.empty()) {
    const uint32_t itemsize = array->dtype.itemsize;
    layout.size = 1;
    for (int32_t axis = 0; axis < array->ndim; ++axis) layout.size *= array->shape[axis];
    layout.c_contiguous = is_c_contiguous(array->ndim, array->shape, array->strides, itemsize);
    layout.f_contiguous = is_f_contiguous(array->ndim, array->shape, array->strides, itemsize);
  }
  *out = layout;
  return CAI_OK;
}
