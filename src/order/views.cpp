// SPDX-License-Identifier: BSD-3-Clause
// Views: slice, reshape, transpose, broadcast. Each is one operation on dims, applied to the array
// and to its mask.
#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/layout.hpp"
#include "core/text.hpp"
#include "order/owned.hpp"

namespace cai {
namespace {

bool is_empty(const Dims &dims) noexcept {
  return std::find(dims.shape, dims.shape + dims.ndim, 0) != dims.shape + dims.ndim;
}

// Whether two have the same shape, and each element in the same place. Strides of axes of extent 1
// do not matter.
bool same_elements(const Dims &a, const Dims &b) noexcept {
  if (a.ndim != b.ndim || !std::equal(a.shape, a.shape + a.ndim, b.shape)) return false;
  if (is_empty(a)) return true;
  for (int32_t axis = 0; axis < a.ndim; ++axis) {
    if (a.shape[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return a.data == b.data;
}

// Wraps where the product means nothing: in an array without elements, or past the last element.
int64_t wrapping_product(int64_t a, int64_t b) noexcept {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

uint64_t advanced(uint64_t data, int64_t count, int64_t stride) noexcept {
  return data + static_cast<uint64_t>(wrapping_product(count, stride));
}

cai_status broadcast(const int64_t *shape, int32_t ndim, Dims *dims, cai_error *error) noexcept {
  if (!broadcasts(dims->shape, dims->ndim, shape, ndim)) {
    return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE}, "shape %s does not broadcast to %s",
                Printed(dims->shape, dims->ndim).c_str(), Printed(shape, ndim).c_str());
  }
  Dims wide;
  wide.data = dims->data;
  wide.ndim = ndim;
  const int32_t fresh = ndim - dims->ndim;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    const bool steps = axis >= fresh && dims->shape[axis - fresh] == shape[axis];
    wide.shape[axis] = shape[axis];
    wide.strides[axis] = steps ? dims->strides[axis - fresh] : 0;
  }
  *dims = wide;
  return CAI_OK;
}

// Where a range starts and how many elements it has, by the rules of Python's slices.
struct Range {
  int64_t start;
  int64_t step;
  int64_t count;
};

Range resolve(const cai_slice &slice, int64_t extent) noexcept {
  const int64_t step = std::max(slice.step, -INT64_MAX);  // so that it can be negated
  const bool back = step < 0;
  const int64_t first = back ? -1 : 0;
  const int64_t last = back ? extent - 1 : extent;
  const auto clip = [&](int64_t at) {
    return at < 0 ? std::max(at + extent, first) : std::min(at, last);
  };
  const int64_t start = slice.kind & CAI_SLICE_NO_START ? (back ? last : first) : clip(slice.start);
  const int64_t stop = slice.kind & CAI_SLICE_NO_STOP ? (back ? first : last) : clip(slice.stop);
  if (back) return {start, step, stop < start ? (start - stop - 1) / -step + 1 : 0};
  return {start, step, start < stop ? (stop - start - 1) / step + 1 : 0};
}

class Slicer {
 public:
  Slicer(const cai_slice *slices, int32_t count) noexcept : slices_(slices), count_(count) {}

  cai_status operator()(Dims *dims, cai_error *error) const noexcept {
    int32_t consumed = 0, ellipses = 0, fresh = 0;
    for (int32_t i = 0; i < count_; ++i) {
      if (const cai_status status = check(slices_[i], i, error)) return status;
      const int32_t kind = base_kind(slices_[i]);
      consumed += kind == CAI_SLICE_RANGE || kind == CAI_SLICE_INDEX;
      ellipses += kind == CAI_SLICE_ELLIPSIS;
      fresh += kind == CAI_SLICE_NEWAXIS;
    }
    if (consumed > dims->ndim || ellipses > 1 || fresh > CAI_MAX_NDIM) {
      return fail(error, CAI_ERR_ARGUMENT, {},
                  "%d indices, %d new axes and %d ellipses are too many for %d dimensions",
                  consumed, fresh, ellipses, dims->ndim);
    }
    const int32_t left_alone = dims->ndim - consumed;
    Dims view;
    view.data = dims->data;
    int32_t axis = 0;
    for (int32_t i = 0; i < count_; ++i) {
      if (base_kind(slices_[i]) == CAI_SLICE_ELLIPSIS) {
        if (!keep(*dims, &axis, left_alone, &view)) return too_many(error);
      } else if (const cai_status status = apply(i, *dims, &axis, &view, error)) {
        return status;
      }
    }
    if (!keep(*dims, &axis, dims->ndim - axis, &view)) return too_many(error);
    *dims = view;
    return CAI_OK;
  }

 private:
  static int32_t base_kind(const cai_slice &slice) noexcept {
    return slice.kind & ~(CAI_SLICE_NO_START | CAI_SLICE_NO_STOP);
  }

  static cai_status too_many(cai_error *error) noexcept {
    return fail(error, CAI_ERR_ARGUMENT, {}, "the view would have more than %d dimensions",
                CAI_MAX_NDIM);
  }

  static cai_status check(const cai_slice &slice, int32_t i, cai_error *error) noexcept {
    const int32_t kind = base_kind(slice);
    if (kind < CAI_SLICE_RANGE || kind > CAI_SLICE_ELLIPSIS ||
        (kind != CAI_SLICE_RANGE && kind != slice.kind) || slice.reserved != 0) {
      return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_NONE, i},
                  "slices[%d] has kind %d and reserved word %u", i, slice.kind, slice.reserved);
    }
    if (kind == CAI_SLICE_RANGE && slice.step == 0) {
      return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_NONE, i}, "slices[%d] has step 0", i);
    }
    return CAI_OK;
  }

  static bool push(Dims *view, int64_t extent, int64_t stride) noexcept {
    if (view->ndim == CAI_MAX_NDIM) return false;
    view->shape[view->ndim] = extent;
    view->strides[view->ndim++] = stride;
    return true;
  }

  static bool keep(const Dims &dims, int32_t *axis, int32_t count, Dims *view) noexcept {
    for (; count > 0; --count, ++*axis) {
      if (!push(view, dims.shape[*axis], dims.strides[*axis])) return false;
    }
    return true;
  }

  cai_status apply(int32_t i, const Dims &dims, int32_t *axis, Dims *view,
                   cai_error *error) const noexcept {
    const cai_slice &slice = slices_[i];
    if (slice.kind == CAI_SLICE_NEWAXIS) return push(view, 1, 0) ? CAI_OK : too_many(error);
    const int64_t extent = dims.shape[*axis];
    const int64_t stride = dims.strides[*axis];
    ++*axis;
    if (slice.kind == CAI_SLICE_INDEX) {
      const int64_t at = slice.start < 0 ? slice.start + extent : slice.start;
      if (at < 0 || at >= extent) {
        return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_NONE, i},
                    "index %lld is out of range for axis %d with %lld elements",
                    static_cast<long long>(slice.start), *axis - 1, static_cast<long long>(extent));
      }
      view->data = advanced(view->data, at, stride);
      return CAI_OK;
    }
    const Range range = resolve(slice, extent);
    int64_t step;
    // If the product overflows, there is at most one element, and the stride does not matter.
    if (!multiply(stride, range.step, &step)) step = stride;
    if (range.count > 0) view->data = advanced(view->data, range.start, stride);
    return push(view, range.count, step) ? CAI_OK : too_many(error);
  }

  const cai_slice *slices_;
  int32_t count_;
};

// Gives each run of new axes the strides of the run of old axes with as many elements, if those old
// axes follow each other without a gap.
bool restride(const Dims &from, uint32_t itemsize, Dims *to) noexcept {
  Dims old;  // without the axes of extent 1, which fit anywhere
  for (int32_t axis = 0; axis < from.ndim; ++axis) {
    if (from.shape[axis] == 1) continue;
    old.shape[old.ndim] = from.shape[axis];
    old.strides[old.ndim++] = from.strides[axis];
  }
  int64_t stride = itemsize;
  int32_t old_axis = old.ndim, axis = to->ndim;
  // NOLINTBEGIN(clang-analyzer-security.ArrayBound): as many elements on both sides end both
  while (axis > 0) {
    if (to->shape[axis - 1] == 1) {
      to->strides[--axis] = stride;
      continue;
    }
    // Going left from here, takes axes of both shapes until the two runs have the same number of
    // elements. Both shapes have the same number in total, so there are such runs.
    int64_t have = old.shape[--old_axis];
    stride = old.strides[old_axis];
    int64_t want = to->shape[--axis];
    to->strides[axis] = stride;
    int64_t step = stride;
    while (have != want) {
      if (have < want) {
        int64_t next;
        if (!multiply(old.strides[old_axis], old.shape[old_axis], &next)) return false;
        if (old.strides[--old_axis] != next) return false;
        have *= old.shape[old_axis];
      } else {
        step = wrapping_product(step, to->shape[axis]);
        want *= to->shape[--axis];
        to->strides[axis] = step;
      }
    }
    stride = wrapping_product(step, to->shape[axis]);
  }
  // NOLINTEND(clang-analyzer-security.ArrayBound)
  return true;
}

class Reshaper {
 public:
  // `itemsize` is that of the array or mask that the dims belong to.
  Reshaper(const int64_t *shape, int32_t ndim) noexcept : shape_(shape), ndim_(ndim) {}

  cai_status operator()(Dims *dims, cai_error *error, uint32_t itemsize) const noexcept {
    Dims view;
    view.data = dims->data;
    view.ndim = ndim_;
    if (const cai_status status = resolve_shape(*dims, &view, error)) return status;
    if (is_empty(*dims)) {
      int64_t units;
      if (fill_c_strides(ndim_, view.shape, itemsize, view.strides, &units) != LayoutFault::none) {
        return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE}, "shape %s is too large",
                    Printed(view.shape, ndim_).c_str());
      }
    } else if (!restride(*dims, itemsize, &view)) {
      return fail(error, CAI_ERR_LAYOUT, {CAI_ENTRY_SHAPE},
                  "shape %s, strides %s cannot be seen as shape %s without a copy",
                  Printed(dims->shape, dims->ndim).c_str(),
                  Printed(dims->strides, dims->ndim).c_str(), Printed(view.shape, ndim_).c_str());
    }
    *dims = view;
    return CAI_OK;
  }

 private:
  cai_status resolve_shape(const Dims &dims, Dims *view, cai_error *error) const noexcept {
    int64_t size = 1;
    for (int32_t axis = 0; axis < dims.ndim; ++axis) size *= dims.shape[axis];
    int32_t unknown = -1;
    bool empty = false;
    for (int32_t axis = 0; axis < ndim_; ++axis) {
      view->shape[axis] = shape_[axis];
      if (shape_[axis] == -1 && unknown < 0) {
        unknown = axis;
      } else if (shape_[axis] < 0) {
        return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE, axis},
                    "shape[%d] is %lld; one extent may be -1, others must be 0 or more", axis,
                    static_cast<long long>(shape_[axis]));
      }
      empty = empty || shape_[axis] == 0;
    }
    int64_t known = empty ? 0 : 1;
    bool fits = true;
    for (int32_t axis = 0; axis < ndim_ && !empty && fits; ++axis) {
      if (axis != unknown) fits = multiply(known, shape_[axis], &known);
    }
    if (fits && unknown < 0 && known == size) return CAI_OK;
    if (fits && unknown >= 0 && known != 0 && size % known == 0) {
      view->shape[unknown] = size / known;
      return CAI_OK;
    }
    return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE},
                "shape %s does not hold the %lld elements of shape %s",
                Printed(shape_, ndim_).c_str(), static_cast<long long>(size),
                Printed(dims.shape, dims.ndim).c_str());
  }

  const int64_t *shape_;
  int32_t ndim_;
};

// Whether an operation leaves each element in its place. Equal dims do not show this, since strides
// may be equal. So it is tried on dims of the same shape with distinct strides.
template <class Operation>
bool is_identity(const Operation &operation, const Dims &dims) noexcept {
  int64_t units;
  Dims probe = dims;
  probe.data = uint64_t{1} << 63;
  if (fill_c_strides(probe.ndim, probe.shape, 1, probe.strides, &units) != LayoutFault::none) {
    return false;
  }
  Dims seen = probe;
  return operation(&seen, nullptr, 1) == CAI_OK && same_elements(seen, probe);
}

// Applies the operation to dims whose items have that size; validates the result.
template <class Operation>
cai_status apply(const Operation &operation, uint32_t itemsize, Dims *dims,
                 cai_error *error) noexcept {
  if (const cai_status status = operation(dims, error, itemsize)) return status;
  Extent extent;
  if (compute_extent(dims->ndim, dims->shape, dims->strides, itemsize, &extent) !=
      LayoutFault::none) {
    return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE},
                "shape %s is too large: the size in bytes does not fit in 63 bits",
                Printed(dims->shape, dims->ndim).c_str());
  }
  if (extent.empty()) dims->data = 0;
  return CAI_OK;
}

// Applies the operation to a mask. A mask of bits can only be viewed as a whole.
template <class Operation>
cai_status view_mask(const cai_array &array, const Operation &operation, Dims *mask,
                     cai_error *error) noexcept {
  *mask = dims_of(*array.mask);
  const Dims whole = dims_of(array);
  if (array.mask->dtype.kind == 't') {
    if (is_identity(operation, whole)) return CAI_OK;
    return fail(error, CAI_ERR_UNSUPPORTED, {CAI_ENTRY_MASK},
                "mask is of bits, typestr |t1: only a view of the whole array can keep it");
  }
  cai_error inner;
  static_cast<void>(broadcast(whole.shape, whole.ndim, mask, &inner));  // as those of a valid array
  const cai_status status = apply(operation, array.mask->dtype.itemsize, mask, &inner);
  if (status == CAI_OK) return CAI_OK;
  return fail(error, status, {CAI_ENTRY_MASK, inner.index}, "mask: %s", inner.message);
}

// Makes the view that `operation(Dims *, cai_error *, itemsize)` describes.
template <class Operation>
cai_status make_view(const cai_array *array, const Operation &operation, uint32_t more_flags,
                     cai_array **out, cai_error *error) noexcept {
  if (!array || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "array or out is NULL");
  if (const cai_status status = cai_array_validate(array, error)) return status;
  if (!array->owner) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "the array is borrowed: a view cannot hold it");
  }
  if (array->dtype.kind == 't') {
    return fail(error, CAI_ERR_UNSUPPORTED, {CAI_ENTRY_TYPESTR},
                "typestr |t1: bits cannot be viewed");
  }
  Dims dims = dims_of(*array);
  if (const cai_status status = apply(operation, array->dtype.itemsize, &dims, error))
    return status;
  Dims mask;
  if (array->mask) {
    if (const cai_status status = view_mask(*array, operation, &mask, error)) return status;
  }
  cai_array *const view = new_view(*array, dims, mask, more_flags);
  if (!view) return fail(error, CAI_ERR_MEMORY, {}, "no host memory left for a view");
  *out = view;
  return CAI_OK;
}

cai_status validate_shape(const int64_t *shape, int32_t ndim, cai_error *error) noexcept {
  if (ndim < 0 || ndim > CAI_MAX_NDIM || (ndim > 0 && !shape)) {
    return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE},
                "shape is NULL, or its %d dimensions are not 0 to %d", ndim, CAI_MAX_NDIM);
  }
  return CAI_OK;
}

}  // namespace
}  // namespace cai

using namespace cai;

cai_status cai_array_slice(const cai_array *array, const cai_slice *slices, int32_t count,
                           cai_array **out, cai_error *error) {
  if (count < 0) return fail(error, CAI_ERR_ARGUMENT, {}, "count is %d, below 0", count);
  if (count > 0 && !slices) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "slices is NULL, and count is %d", count);
  }
  const Slicer slicer(slices, count);
  return make_view(
      array, [&](Dims *dims, cai_error *e, uint32_t) { return slicer(dims, e); }, 0, out, error);
}

cai_status cai_array_reshape(const cai_array *array, const int64_t *shape, int32_t ndim,
                             cai_array **out, cai_error *error) {
  if (const cai_status status = validate_shape(shape, ndim, error)) return status;
  return make_view(array, Reshaper(shape, ndim), 0, out, error);
}

cai_status cai_array_transpose(const cai_array *array, const int32_t *axes, cai_array **out,
                               cai_error *error) {
  const auto transpose = [&](Dims *dims, cai_error *e, uint32_t) {
    Dims view;
    view.data = dims->data;
    view.ndim = dims->ndim;
    uint64_t seen = 0;
    for (int32_t i = 0; i < dims->ndim; ++i) {
      const int32_t said = axes ? axes[i] : dims->ndim - 1 - i;
      const int32_t axis = said < 0 ? said + dims->ndim : said;
      if (axis < 0 || axis >= dims->ndim || (seen >> axis & 1) != 0) {
        return fail(e, CAI_ERR_ARGUMENT, {CAI_ENTRY_NONE, i},
                    "axes[%d] is %d: out of range for %d dimensions, or repeated", i, said,
                    dims->ndim);
      }
      seen |= uint64_t{1} << axis;
      view.shape[i] = dims->shape[axis];
      view.strides[i] = dims->strides[axis];
    }
    *dims = view;
    return cai_status{CAI_OK};
  };
  return make_view(array, transpose, 0, out, error);
}

cai_status cai_array_broadcast(const cai_array *array, const int64_t *shape, int32_t ndim,
                               cai_array **out, cai_error *error) {
  if (const cai_status status = validate_shape(shape, ndim, error)) return status;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (shape[axis] < 0) {
      return fail(error, CAI_ERR_ARGUMENT, {CAI_ENTRY_SHAPE, axis}, "shape[%d] is %lld, below 0",
                  axis, static_cast<long long>(shape[axis]));
    }
  }
  return make_view(
      array, [&](Dims *dims, cai_error *e, uint32_t) { return broadcast(shape, ndim, dims, e); },
      CAI_FLAG_READONLY, out, error);
}
