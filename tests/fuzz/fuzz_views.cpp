// SPDX-License-Identifier: BSD-3-Clause
// Chains of views of an array in real memory, beside a model that knows of each element only its
// number in the first array: where it lies, and what a view may be, follows from that alone. Each
// view is then written through, and read again through the first array.
#include <cai/memory.h>

#include <algorithm>

#include "input.hpp"
#include "wide.hpp"

namespace {

using fuzz::wide;
using Shape = std::vector<std::int64_t>;

constexpr wide most_elements = 2048;  // of a view that is looked at, and along each axis

wide count_of(const Shape &shape) {
  wide count = 1;
  for (const std::int64_t extent : shape) count = std::min(count * extent, wide{1} << 80);
  return count;
}

bool is_large(const Shape &shape) {
  return count_of(shape) > most_elements ||
         std::any_of(shape.begin(), shape.end(),
                     [](wide extent) { return extent > most_elements; });
}

// The number of each element, in C order.
struct Model {
  Shape shape;
  std::vector<int> numbers;

  bool operator==(const Model &) const = default;
};

// Elements in memory of exactly their extent, so that a sanitizer sees any beyond it.
struct Root {
  Shape shape, strides;
  std::vector<std::int64_t> offsets;  // of each element from the lowest
  std::unique_ptr<std::uint8_t[]> memory;
  std::vector<std::uint8_t> expected;  // the bytes that are to be there
  cai_array array{};

  std::uint64_t base() const { return reinterpret_cast<std::uintptr_t>(memory.get()); }
  std::uint64_t address(int number) const {
    return base() + static_cast<std::uint64_t>(offsets[static_cast<std::size_t>(number)]);
  }
};

// Goes over all indices of a shape, the last axis first.
template <class Function>
void each_index(const Shape &shape, const Function &function) {
  if (count_of(shape) == 0) return;
  Shape index(shape.size());
  for (;;) {
    function(index);
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

cai_array plain_array() {
  cai_array a{};
  a.abi_major = CAI_ABI_MAJOR;
  a.device_type = CAI_DEVICE_CPU;
  a.stream_kind = CAI_STREAM_NONE;
  a.version = CAI_INTERFACE_VERSION;
  return a;
}

// Strides of every kind, with gaps, overlaps and backward steps, and of an axis of one element
// any number.
void make_root(fuzz::Input &input, const char *typestr, const Shape &shape, Root &root) {
  cai_array &a = root.array = plain_array();
  MUST(cai_dtype_parse(typestr, std::strlen(typestr), &a.dtype, nullptr));
  const std::int64_t itemsize = a.dtype.itemsize;
  root.shape = shape;
  root.strides.resize(shape.size());
  const unsigned kind = a.dtype.kind == 't' ? 0 : input.below(6);
  std::int64_t step = itemsize;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = kind == 1 ? i : shape.size() - 1 - i;
    std::int64_t &stride = root.strides[axis];
    stride = step;
    step *= std::max(shape[axis], std::int64_t{1});
    if (kind == 2 && input.below(2)) stride = -stride;
    if (kind == 3) step += static_cast<std::int64_t>(input.below(3)) * itemsize;
    if (kind == 4) stride = static_cast<std::int64_t>(input.below(33)) - 16;
    if (kind == 5 && shape[axis] <= 1) stride = input.number();
  }
  wide lo = 0, hi = 0;
  std::vector<wide> offsets;
  each_index(shape, [&](const Shape &index) {
    wide offset = 0;
    for (std::size_t k = 0; k < index.size(); ++k) offset += wide{index[k]} * root.strides[k];
    if (a.dtype.kind == 't') offset /= 8;
    offsets.push_back(offset);
    lo = std::min(lo, offset);
    hi = std::max(hi, offset + itemsize);
  });
  for (const wide offset : offsets) root.offsets.push_back(static_cast<std::int64_t>(offset - lo));
  root.memory.reset(new std::uint8_t[static_cast<std::size_t>(hi - lo)]());
  root.expected.resize(static_cast<std::size_t>(hi - lo));
  a.ndim = static_cast<std::int32_t>(shape.size());
  a.shape = root.shape.data();
  a.strides = root.strides.data();
  a.data = offsets.empty() ? 0 : root.base() + static_cast<std::uint64_t>(-lo);
}

// ---- What each operation is to make of a model

// Takes these indices of each axis, in order.
Model taken(const Model &from, const std::vector<Shape> &picks) {
  Model made;
  // Or the other axes of nothing would be as long as they like.
  for (const Shape &pick : picks)
    if (pick.empty()) return made;
  std::vector<std::int64_t> flat{0};
  for (std::size_t axis = 0; axis < picks.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t before : flat)
      for (const std::int64_t pick : picks[axis]) next.push_back(before * from.shape[axis] + pick);
    flat = next;
  }
  for (const std::int64_t i : flat)
    made.numbers.push_back(from.numbers[static_cast<std::size_t>(i)]);
  return made;
}

// Which indices a range names, as Python's text says it.
Shape picked(const cai_slice &slice, std::int64_t extent) {
  const bool back = slice.step < 0;
  const auto clip = [&](wide at) {
    if (at < 0) at += extent;
    return std::clamp(at, wide{back ? -1 : 0}, wide{extent} - (back ? 1 : 0));
  };
  wide at = back ? extent - 1 : 0, stop = back ? -1 : extent;
  if (!(slice.kind & CAI_SLICE_NO_START)) at = clip(slice.start);
  if (!(slice.kind & CAI_SLICE_NO_STOP)) stop = clip(slice.stop);
  Shape found;
  for (; back ? at > stop : at < stop; at += slice.step)
    found.push_back(static_cast<std::int64_t>(at));
  return found;
}

bool is_lawful(const cai_slice &slice) {
  const int kind = slice.kind & ~(CAI_SLICE_NO_START | CAI_SLICE_NO_STOP);
  if (slice.reserved) return false;
  return kind == CAI_SLICE_RANGE ? slice.step != 0
                                 : kind == slice.kind && kind > 0 && kind <= CAI_SLICE_ELLIPSIS;
}

bool slice_model(const Model &from, const std::vector<cai_slice> &slices, Model &to) {
  std::size_t taking = 0, ellipses = 0;
  for (const cai_slice &each : slices) {
    if (!is_lawful(each)) return false;
    taking += each.kind != CAI_SLICE_NEWAXIS && each.kind != CAI_SLICE_ELLIPSIS;
    ellipses += each.kind == CAI_SLICE_ELLIPSIS;
  }
  if (taking > from.shape.size() || ellipses > 1) return false;
  std::vector<Shape> picks;
  Shape shape;
  const auto keep = [&](std::size_t axes) {
    for (; axes > 0; --axes) {
      Shape all;
      for (std::int64_t i = 0; i < from.shape[picks.size()]; ++i) all.push_back(i);
      shape.push_back(from.shape[picks.size()]);
      picks.push_back(all);
    }
  };
  for (const cai_slice &each : slices) {
    if (each.kind == CAI_SLICE_NEWAXIS) {
      shape.push_back(1);
    } else if (each.kind == CAI_SLICE_ELLIPSIS) {
      keep(from.shape.size() - taking);
    } else if (each.kind == CAI_SLICE_INDEX) {
      const wide extent = from.shape[picks.size()];
      const wide at = each.start < 0 ? each.start + extent : wide{each.start};
      if (at < 0 || at >= extent) return false;
      picks.push_back({static_cast<std::int64_t>(at)});
    } else {
      picks.push_back(picked(each, from.shape[picks.size()]));
      shape.push_back(static_cast<std::int64_t>(picks.back().size()));
    }
  }
  keep(from.shape.size() - picks.size());
  to = taken(from, picks);
  to.shape = shape;
  return shape.size() <= CAI_MAX_NDIM;
}

bool transpose_model(const Model &from, const std::int32_t *axes, Model &to) {
  const int ndim = static_cast<int>(from.shape.size());
  std::vector<int> order;
  for (int i = 0; i < ndim; ++i) {
    int axis = axes ? axes[i] : ndim - 1 - i;
    if (axis < 0) axis += ndim;
    if (axis < 0 || axis >= ndim || std::count(order.begin(), order.end(), axis)) return false;
    order.push_back(axis);
  }
  to = {};
  for (const int axis : order) to.shape.push_back(from.shape[static_cast<std::size_t>(axis)]);
  each_index(to.shape, [&](const Shape &index) {
    Shape old(index.size());
    for (std::size_t i = 0; i < index.size(); ++i)
      old[static_cast<std::size_t>(order[i])] = index[i];
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < old.size(); ++k) flat = flat * from.shape[k] + old[k];
    to.numbers.push_back(from.numbers[static_cast<std::size_t>(flat)]);
  });
  return true;
}

// A size in bytes must fit in 63 bits, even if extents are 0.
bool fits(const Shape &shape, wide itemsize) {
  return fuzz::extent_of(static_cast<std::int32_t>(shape.size()), shape.data(), nullptr, itemsize)
      .fits();
}

bool reshape_model(const Model &from, Shape shape, wide itemsize, Model &to) {
  const wide size = static_cast<wide>(from.numbers.size());
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    *unknown = 1;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; }))
      return false;
    const wide known = count_of(shape);
    if (known == 0 || size % known != 0) return false;
    *unknown = static_cast<std::int64_t>(size / known);
  }
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; }))
    return false;
  to = {shape, from.numbers};
  return count_of(shape) == size && fits(shape, itemsize);
}

// False: not allowed. A model that is too large to be looked at has no numbers.
bool broadcast_model(const Model &from, const Shape &shape, wide itemsize, Model &to) {
  if (shape.size() < from.shape.size()) return false;
  const std::size_t fresh = shape.size() - from.shape.size();
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] < 0) return false;
    if (k >= fresh && from.shape[k - fresh] != 1 && from.shape[k - fresh] != shape[k]) return false;
  }
  to = {shape, {}};
  if (!fits(shape, itemsize)) return false;
  if (is_large(shape)) return true;
  each_index(shape, [&](const Shape &index) {
    std::int64_t flat = 0;
    for (std::size_t k = 0; k < from.shape.size(); ++k)
      flat = flat * from.shape[k] + (from.shape[k] == 1 ? 0 : index[k + fresh]);
    to.numbers.push_back(from.numbers[static_cast<std::size_t>(flat)]);
  });
  return true;
}

// Whether strides can say where the elements are: a step along an axis is one distance everywhere.
bool is_strided(const Model &model, const Root &root) {
  if (model.numbers.empty()) return true;
  const auto offset = [&](std::size_t i) {
    return root.offsets[static_cast<std::size_t>(model.numbers[i])];
  };
  Shape strides(model.shape.size());
  std::size_t step = 1;
  for (std::size_t k = strides.size(); k-- > 0; step *= static_cast<std::size_t>(model.shape[k]))
    strides[k] = model.shape[k] > 1 ? offset(step) - offset(0) : 0;
  bool found = true;
  std::size_t i = 0;
  each_index(model.shape, [&](const Shape &index) {
    std::int64_t there = offset(0);
    for (std::size_t k = 0; k < index.size(); ++k) there += index[k] * strides[k];
    found = found && there == offset(i++);
  });
  return found;
}

// ---- The arrays, and what is asked of them

class Chain {
 public:
  explicit Chain(fuzz::Input &input) : input_(input) {
    static const char *const types[] = {"|u1", "<i2", "<f4", "<c8", "|V3", "|S5", "<M8[s]", ">f8"};
    static const char *const mask_types[] = {"|b1", "|b1", "<f4", "|t1"};
    Shape shape;
    for (unsigned n = input.below(5); n > 0; --n)
      shape.push_back(static_cast<std::int64_t>(input.below(6)));
    make_root(input, types[input.below(8)], shape, root_);
    Model all{shape, {}};
    for (std::size_t i = 0; i < root_.offsets.size(); ++i)
      all.numbers.push_back(static_cast<int>(i));
    cai_array &a = root_.array;
    a.flags = a.dtype.byteorder == '>' ? CAI_FLAG_SWAPPED : 0;
    if (input.below(4) == 1) a.flags |= CAI_FLAG_READONLY;
    if (input.below(3) == 1) {
      Shape masks = shape;
      for (std::int64_t &extent : masks) extent = input.below(4) == 1 ? 1 : extent;
      if (!masks.empty() && input.below(4) == 1) masks.erase(masks.begin());
      make_root(input, mask_types[input.below(4)], masks, mask_);
      Model mask{masks, {}};
      for (std::size_t i = 0; i < mask_.offsets.size(); ++i)
        mask.numbers.push_back(static_cast<int>(i));
      a.mask = &mask_.array;
      a.flags |= CAI_FLAG_MASKED;
      MUST_HOLD(broadcast_model(mask, shape, 1, mask_model_));
    }
    cai_array *owned = nullptr;
    MUST(cai_array_own(&a, fuzz::count_release, &released_, &owned, nullptr));
    add(owned, all);
  }
  Chain(const Chain &) = delete;
  Chain &operator=(const Chain &) = delete;

  ~Chain() {
    while (!arrays_.empty()) {
      MUST_HOLD(released_ == 0);
      const auto which = arrays_.begin() + input_.below(static_cast<unsigned>(arrays_.size()));
      cai_array_release(*which);
      arrays_.erase(which);
    }
    MUST_HOLD(released_ == 1);
  }

  void step() {
    switch (input_.below(4)) {
      case 0:
        return slice();
      case 1:
        return reshape();
      case 2:
        return transpose();
      default:
        return broadcast();
    }
  }

 private:
  const cai_array *last() const { return arrays_.back(); }
  bool is_masked() const { return root_.array.mask != nullptr; }
  bool has_bits() const { return is_masked() && mask_.array.dtype.kind == 't'; }

  // `apply` does to a model what is asked of the library; false: nothing allowed.
  template <class Apply>
  void judge(cai_status status, cai_array *made, const cai_error &error, std::uint32_t flags,
             const Apply &apply) {
    Model view, mask;
    cai_status wanted = CAI_OK;
    bool blames_mask = false;
    if (!apply(model_, last()->dtype.itemsize, view)) {
      wanted = CAI_ERR_ARGUMENT;
    } else if (!is_strided(view, root_)) {
      wanted = CAI_ERR_LAYOUT;
    } else if (has_bits()) {
      blames_mask = !(view == model_);
      wanted = blames_mask ? CAI_ERR_UNSUPPORTED : CAI_OK;
    } else if (is_masked()) {
      if (!apply(mask_model_, mask_.array.dtype.itemsize, mask)) {
        wanted = CAI_ERR_ARGUMENT, blames_mask = true;
      } else if (!is_strided(mask, mask_)) {
        wanted = CAI_ERR_LAYOUT, blames_mask = true;
      }
    }
    if (status != wanted) std::fprintf(stderr, "%s\n", status ? error.message : "taken");
    MUST_BE(status, wanted);
    if (status) {
      fuzz::require_error(status, error);
      MUST_HOLD(!made && (error.entry == CAI_ENTRY_MASK) == blames_mask);
      return;
    }
    if (is_large(view.shape)) {  // its facts are judged, and no element
      require_shape(*made, view);
      MUST_HOLD((count_of(view.shape) == 0) == (made->data == 0));
      cai_array_release(made);
      return;
    }
    flags_ |= flags;
    if (is_masked() && !has_bits()) mask_model_ = mask;
    add(made, view);
    if (is_masked() && !has_bits()) {
      MUST_HOLD(made->mask && made->mask->dtype.kind == mask_.array.dtype.kind);
      require_places(*made->mask, mask_model_, mask_);
    }
  }

  void add(cai_array *made, const Model &view) {
    arrays_.push_back(made);
    model_ = view;
    require_places(*made, view, root_);
    MUST_HOLD((made->flags & 0xFFFF0000) == ((root_.array.flags | flags_) & 0xFFFF0000));
    MUST_HOLD(made->stream_kind == CAI_STREAM_NONE && made->device_type == CAI_DEVICE_CPU);
    if (!(made->flags & CAI_FLAG_READONLY)) write_through(*made);
    read_again(*made);
  }

  static void require_shape(const cai_array &array, const Model &model) {
    MUST(cai_array_validate(&array, nullptr));
    MUST_HOLD(array.ndim == static_cast<int>(model.shape.size()));
    MUST_HOLD(std::equal(model.shape.begin(), model.shape.end(), array.shape));
  }

  // All of it is in the root's memory, and where the model says.
  static void require_places(const cai_array &array, const Model &model, const Root &root) {
    require_shape(array, model);
    MUST_HOLD(!std::memcmp(&array.dtype, &root.array.dtype, sizeof array.dtype));
    cai_layout layout;
    MUST(cai_array_layout(&array, &layout, nullptr));
    MUST_HOLD(layout.size == static_cast<std::int64_t>(model.numbers.size()));
    if (model.numbers.empty()) {
      MUST_HOLD(array.data == 0 && layout.lo == 0 && layout.hi == 0 && layout.nbytes == 0);
      MUST_HOLD(layout.c_contiguous && layout.f_contiguous);
      return;
    }
    if (array.dtype.kind == 't') return;  // they are seen as a whole, which no step tells
    const wide itemsize = array.dtype.itemsize;
    wide lo = fuzz::bits_64, hi = 0;
    bool in_c_order = true, in_f_order = true;
    std::size_t i = 0;
    each_index(model.shape, [&](const Shape &index) {
      wide at = array.data, in_f = 0, step = itemsize;
      for (std::size_t k = 0; k < index.size(); ++k) {
        at += wide{index[k]} * array.strides[k];
        in_f += index[k] * step;
        step *= model.shape[k];
      }
      in_c_order = in_c_order && at == wide{array.data} + static_cast<wide>(i) * itemsize;
      in_f_order = in_f_order && at == wide{array.data} + in_f;
      lo = std::min(lo, at);
      hi = std::max(hi, at + itemsize);
      MUST_HOLD(at == root.address(model.numbers[i++]));
    });
    MUST_HOLD(lo >= root.base() && hi <= wide{root.base()} + wide{root.expected.size()});
    MUST_HOLD(layout.lo == lo - array.data && layout.hi == hi - array.data);
    MUST_HOLD(layout.nbytes == layout.size * itemsize);
    MUST_HOLD(!!layout.c_contiguous == in_c_order && !!layout.f_contiguous == in_f_order);
  }

  void write_through(const cai_array &array) {
    const std::size_t itemsize = array.dtype.itemsize;
    std::size_t i = 0;
    each_index(model_.shape, [&](const Shape &index) {
      std::int64_t at = 0;
      for (std::size_t k = 0; k < index.size(); ++k) at += index[k] * array.strides[k];
      const std::uint8_t byte = ++written_;
      std::memset(reinterpret_cast<void *>(array.data + static_cast<std::uint64_t>(at)), byte,
                  itemsize);
      const auto number = static_cast<std::size_t>(model_.numbers[i++]);
      std::memset(&root_.expected[static_cast<std::size_t>(root_.offsets[number])], byte, itemsize);
    });
    MUST_HOLD(std::equal(root_.expected.begin(), root_.expected.end(), root_.memory.get()));
  }

  // An element of the view, and the root's of the same number, as the library brings them.
  void read_again(const cai_array &array) {
    if (model_.numbers.empty()) return;
    const std::size_t wanted = input_.byte() % model_.numbers.size();
    const int number = model_.numbers[wanted];
    std::uint8_t seen[16], there[16];
    const Shape index = index_of(model_.shape, wanted);
    const cai_status status = cai_array_item(&array, index.data(), seen, nullptr);
    MUST_BE(status, is_masked() ? CAI_ERR_UNSUPPORTED : CAI_OK);
    if (status) return;
    const Shape in_root = index_of(root_.shape, static_cast<std::size_t>(number));
    MUST(cai_array_item(arrays_.front(), in_root.data(), there, nullptr));
    const auto offset = static_cast<std::size_t>(root_.offsets[static_cast<std::size_t>(number)]);
    MUST_HOLD(!std::memcmp(seen, &root_.expected[offset], array.dtype.itemsize));
    MUST_HOLD(!std::memcmp(seen, there, array.dtype.itemsize));
  }

  static Shape index_of(const Shape &shape, std::size_t flat) {
    Shape index(shape.size() + 1);  // so that there is an address where there are no axes
    for (std::size_t k = shape.size(); k-- > 0;) {
      index[k] = static_cast<std::int64_t>(flat % static_cast<std::size_t>(shape[k]));
      flat /= static_cast<std::size_t>(shape[k]);
    }
    return index;
  }

  // ---- Operations

  void slice() {
    std::vector<cai_slice> slices;
    unsigned count = input_.below(6);
    if (input_.below(64) == 1) count += 64;
    for (; count > 0; --count) {
      static constexpr std::int32_t kinds[] = {
          CAI_SLICE_RANGE,
          CAI_SLICE_RANGE | CAI_SLICE_NO_START,
          CAI_SLICE_RANGE | CAI_SLICE_NO_STOP,
          CAI_SLICE_RANGE | CAI_SLICE_NO_START | CAI_SLICE_NO_STOP,
          CAI_SLICE_INDEX,
          CAI_SLICE_NEWAXIS,
          CAI_SLICE_ELLIPSIS};
      cai_slice each{};
      each.kind = count > 6 ? std::int32_t{CAI_SLICE_NEWAXIS} : kinds[input_.below(7)];
      each.start = input_.number();
      each.stop = input_.number();
      each.step = input_.below(2) ? 1 : input_.number();
      if (input_.below(48) == 1) each.kind = static_cast<std::int32_t>(input_.number());
      if (input_.below(96) == 1) each.reserved = 1;
      slices.push_back(each);
    }
    cai_array *made = nullptr;
    cai_error error;
    const cai_status status = cai_array_slice(
        last(), slices.data(), static_cast<std::int32_t>(slices.size()), &made, &error);
    judge(status, made, error, 0,
          [&](const Model &from, wide, Model &to) { return slice_model(from, slices, to); });
  }

  void reshape() {
    Shape shape;
    std::int64_t left = static_cast<std::int64_t>(model_.numbers.size());
    while (left > 1 && shape.size() < 6 && input_.below(4)) {
      std::int64_t factor = 1 + input_.below(6);
      while (left % factor) --factor;
      shape.push_back(factor);
      left /= factor;
    }
    shape.push_back(left);
    if (input_.below(4) == 1) shape[input_.below(static_cast<unsigned>(shape.size()))] = -1;
    if (input_.below(12) == 1)
      shape[input_.below(static_cast<unsigned>(shape.size()))] = input_.number();
    if (input_.below(12) == 1) shape.push_back(input_.number());
    if (model_.numbers.size() == 1 && input_.below(4) == 1) shape.clear();
    cai_array *made = nullptr;
    cai_error error;
    const cai_status status = cai_array_reshape(
        last(), shape.data(), static_cast<std::int32_t>(shape.size()), &made, &error);
    judge(status, made, error, 0, [&](const Model &from, wide itemsize, Model &to) {
      return reshape_model(from, shape, itemsize, to);
    });
  }

  void transpose() {
    std::vector<std::int32_t> axes;
    for (int k = 0; k < last()->ndim; ++k) axes.push_back(k);
    for (std::size_t k = axes.size(); k > 1; --k)
      std::swap(axes[k - 1], axes[input_.below(static_cast<unsigned>(k))]);
    for (std::int32_t &axis : axes) {
      if (input_.below(4) == 1) axis -= last()->ndim;
      if (input_.below(48) == 1) axis = static_cast<std::int32_t>(input_.number());
    }
    const std::int32_t *const given = input_.below(4) == 1 ? nullptr : axes.data();
    cai_array *made = nullptr;
    cai_error error;
    const cai_status status =
        cai_array_transpose(last(), axes.empty() ? nullptr : given, &made, &error);
    judge(status, made, error, 0, [&](const Model &from, wide, Model &to) {
      return transpose_model(from, axes.empty() ? nullptr : given, to);
    });
  }

  void broadcast() {
    Shape shape = model_.shape;
    for (std::int64_t &extent : shape) {
      if (extent == 1 && input_.below(2)) extent = input_.below(8);
      if (input_.below(32) == 1) extent = input_.number();
    }
    for (unsigned n = input_.below(3); n > 0; --n)
      shape.insert(shape.begin(), input_.below(4) == 1 ? input_.number() : input_.below(4));
    if (!shape.empty() && input_.below(48) == 1) shape.erase(shape.begin());
    if (shape.size() > CAI_MAX_NDIM) return;
    cai_array *made = nullptr;
    cai_error error;
    const cai_status status = cai_array_broadcast(
        last(), shape.data(), static_cast<std::int32_t>(shape.size()), &made, &error);
    judge(status, made, error, CAI_FLAG_READONLY, [&](const Model &from, wide itemsize, Model &to) {
      return broadcast_model(from, shape, itemsize, to);
    });
  }

  fuzz::Input &input_;
  Root root_, mask_;
  int released_ = 0;
  std::vector<cai_array *> arrays_;
  Model model_;       // of the last one
  Model mask_model_;  // of its mask, as large as it
  std::uint32_t flags_ = 0;
  std::uint8_t written_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  Chain chain(input);
  for (int steps = 0; steps < 12 && !input.done(); ++steps) chain.step();
  return 0;
}
