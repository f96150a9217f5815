// SPDX-License-Identifier: BSD-3-Clause
// Reads an interface. All rules of the text are here, except the grammars of typestr and descr.
#include <algorithm>
#include <cstring>
#include <new>

#include "core/descr.hpp"
#include "core/error.hpp"
#include "core/judge.hpp"
#include "core/layout.hpp"
#include "core/sizes.hpp"
#include "core/storage.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"
#include "core/values.hpp"

namespace cai {
namespace {

namespace clause {
constexpr const char *kInterface =
    "CAI v3: the attribute is a dict with shape, typestr, data, version";
constexpr const char *kVersion = "CAI v3, version: an integer, which is 3 here";
constexpr const char *kShape = "CAI v3, shape: a tuple of integers, none below 0";
constexpr const char *kTypestr = "CAI v3, typestr: as in NumPy's array interface, '<f4'";
constexpr const char *kData =
    "CAI v3, data: a tuple of the pointer, an integer, and the read-only flag, a bool; the pointer is "
    "0 if and only if there are no elements";
constexpr const char *kStrides =
    "CAI v3, strides: None for C order, or a tuple of integers, bytes, one for each extent";
constexpr const char *kStream =
    "CAI v3, stream: None, 1 (legacy default), 2 (per-thread default) or a handle; 0 is disallowed";
constexpr const char *kMask =
    "CAI v3, mask: None, or an object with an interface whose elements are true where the array's are "
    "valid, of a shape that broadcasts to the array's";
constexpr const char *kOffset = "libcai: NumPy's offset and buffers as data are not taken";
constexpr const char *kAlignment = "libcai: advice on alignment";
}  // namespace clause

class Reader {
 public:
  Reader(const cai_interface &in, bool is_mask, Judge &judge, Storage &storage) noexcept
      : in_(in), is_mask_(is_mask), judge_(judge), values_(judge), storage_(storage) {}

  // Fills in `array` as the last step, if the judge has no error. Flattened: a plain dict is read
  // in one function, and rare cases are calls.
  [[gnu::flatten]] void read(cai_array *array) noexcept;

 private:
  bool read_form() noexcept;
  void read_version() noexcept;
  bool read_shape() noexcept;
  bool read_typestr() noexcept;
  bool read_strides() noexcept;
  bool assume_c_order() noexcept;
  void report_size() noexcept;
  void read_data(bool layout_known) noexcept;
  void read_pointer(const cai_value &pointer, bool layout_known) noexcept;
  void read_readonly(const cai_value &flag) noexcept;
  [[gnu::noinline]] void read_descr() noexcept;
  void read_stream() noexcept;
  [[gnu::noinline]] void read_mask() noexcept;
  void read_offset() noexcept;
  [[gnu::noinline]] void advise_alignment() noexcept;

  // Reads a tuple of integers, each at least `lowest`, into storage. Returns NULL if one is
  // invalid.
  int64_t *read_dims(const cai_value &value, int32_t entry, const char *rule,
                     int64_t lowest) noexcept;
  // After an error there is no reason to read on, unless the caller wants all findings.
  bool going_on() const noexcept { return judge_.verdict() == CAI_OK || judge_.listens(); }
  bool is_host() const noexcept { return in_.protocol == CAI_PROTOCOL_HOST; }

  const cai_interface &in_;
  const bool is_mask_;
  Judge &judge_;
  Values values_;
  Storage &storage_;
  cai_array array_{};
  Extent extent_;  // in bytes; set once the strides are known
};

int64_t *Reader::read_dims(const cai_value &value, int32_t entry, const char *rule,
                           int64_t lowest) noexcept {
  if (value.length && !value.items) {
    judge_.error(CAI_ERR_TYPE, entry, -1, value, rule, " has items that the binding did not read");
    return nullptr;
  }
  auto *const dims = storage_.take<int64_t>(value.length);
  if (!dims && value.length) {
    judge_.abandon(CAI_ERR_STORAGE, "the storage is too small for shape and strides");
    return nullptr;
  }
  bool fine = true;
  for (uint32_t i = 0; i < value.length; ++i) {
    const cai_value &item = value.items[i];
    const auto index = static_cast<int32_t>(i);
    if (!values_.read_signed(item, entry, index, rule, &dims[i])) {
      fine = false;
      if (!going_on()) return nullptr;
      continue;
    }
    if (dims[i] < lowest) {
      values_.report_integer(item, entry, index, rule, "0 or more",
                             "write how many elements the axis has");
      fine = false;
      if (!going_on()) return nullptr;
    }
  }
  return fine ? dims : nullptr;
}

bool Reader::read_form() noexcept {
  if (in_.dict.form == CAI_FORM_DICT) return true;
  if (in_.dict.form == CAI_FORM_DICT_SUBCLASS) {
    judge_.lenience(CAI_ERR_TYPE, CAI_ENTRY_INTERFACE, -1, in_.dict, clause::kInterface,
                    ": expected a dict, got %s, of a subclass: convert it by dict()",
                    Printed(in_.dict).c_str());
    return true;
  }
  if (in_.dict.form == CAI_FORM_MAPPING) {
    judge_.lenience(CAI_ERR_TYPE, CAI_ENTRY_INTERFACE, -1, in_.dict, clause::kInterface,
                    ": expected a dict, got %s, another mapping: convert it by dict()",
                    Printed(in_.dict).c_str());
    return true;
  }
  judge_.error(CAI_ERR_TYPE, CAI_ENTRY_INTERFACE, -1, in_.dict, clause::kInterface,
               ": expected a dict, got %s: return a dict from the attribute",
               Printed(in_.dict).c_str());
  return false;
}

void Reader::read_version() noexcept {
  if (in_.version.form == CAI_FORM_MISSING) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_VERSION, -1, in_.version, clause::kVersion,
                 ": expected 3, but it is missing: add 'version' to the dict");
    return;
  }
  int64_t version;
  if (!values_.read_signed(in_.version, CAI_ENTRY_VERSION, -1, clause::kVersion, &version)) return;
  if (version < 0 || version > CAI_INTERFACE_VERSION) {
    values_.report_integer(in_.version, CAI_ENTRY_VERSION, -1, clause::kVersion, "0 to 3",
                           "describe the array by version 3");
    return;
  }
  if (version != CAI_INTERFACE_VERSION) {
    judge_.lenience(CAI_ERR_VALUE, CAI_ENTRY_VERSION, -1, in_.version, clause::kVersion,
                    ": expected 3, got %d, an old version: write 3, and say the stream",
                    static_cast<int>(version));
  }
  array_.version = static_cast<uint32_t>(version);
}

bool Reader::read_shape() noexcept {
  if (!values_.validate_tuple(in_.shape, CAI_ENTRY_SHAPE, clause::kShape)) return false;
  if (in_.shape.length > CAI_MAX_NDIM) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, -1, in_.shape, clause::kShape,
                 ": expected %d dimensions at most, got %u: %s", CAI_MAX_NDIM, in_.shape.length,
                 Printed(in_.shape).c_str());
    return false;
  }
  const int64_t *const shape = read_dims(in_.shape, CAI_ENTRY_SHAPE, clause::kShape, 0);
  if (!shape && in_.shape.length) return false;
  array_.ndim = static_cast<int32_t>(in_.shape.length);
  array_.shape = shape;
  return true;
}

bool Reader::read_typestr() noexcept {
  const cai_value &value = in_.typestr;
  if (value.form == CAI_FORM_MISSING) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, -1, value, clause::kTypestr,
                 ": expected a string as '<f4', but it is missing: add 'typestr' to the dict");
    return false;
  }
  if ((value.form != CAI_FORM_TEXT && value.form != CAI_FORM_TEXT_SUBCLASS) ||
      (value.length && !value.text)) {
    judge_.error(CAI_ERR_TYPE, CAI_ENTRY_TYPESTR, -1, value, clause::kTypestr,
                 ": expected a string as '<f4', got %s", Printed(value).c_str());
    return false;
  }
  if (value.form == CAI_FORM_TEXT_SUBCLASS) {
    judge_.lenience(CAI_ERR_TYPE, CAI_ENTRY_TYPESTR, -1, value, clause::kTypestr,
                    ": expected a str, got %s, of a subclass: convert it by str()",
                    Printed(value).c_str());
  }
  const ParsedTypestr parsed = parse_typestr(value.length ? value.text : "", value.length);
  if (parsed.spelling == Spelling::wrong) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, -1, value, clause::kTypestr,
                 ": expected byte order, kind and size, as '<f4', got %s, which %s",
                 Printed(value).c_str(), parsed.fault);
    return false;
  }
  if (parsed.dtype.kind == 't' && !is_mask_) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, -1, value, clause::kTypestr,
                 ": expected whole bytes, got %s, which is of bits, which only a mask may be",
                 Printed(value).c_str());
    return false;
  }
  if (parsed.spelling == Spelling::loose) {
    judge_.lenience(CAI_ERR_VALUE, CAI_ENTRY_TYPESTR, -1, value, clause::kTypestr,
                    ": expected byte order, kind and size, as '<f4', got %s, which %s",
                    Printed(value).c_str(), parsed.fault);
  }
  array_.dtype = parsed.dtype;
  if (is_swapped(parsed.dtype)) array_.flags |= CAI_FLAG_SWAPPED;
  return true;
}

bool Reader::assume_c_order() noexcept {
  array_.flags |= CAI_FLAG_STRIDES_NONE;
  auto *const strides = storage_.take<int64_t>(static_cast<uint64_t>(array_.ndim));
  if (!strides && array_.ndim) {
    judge_.abandon(CAI_ERR_STORAGE, "the storage is too small for the strides");
    return false;
  }
  int64_t units;
  array_.strides = strides;
  if (fill_c_strides(array_.ndim, array_.shape, array_.dtype.itemsize, strides, &units) !=
      LayoutFault::none) {
    report_size();
    return false;
  }
  extent_ = {units, 0, units};
  if (array_.dtype.kind == 't') extent_.bits_to_bytes();
  return true;
}

bool Reader::read_strides() noexcept {
  const cai_value &value = in_.strides;
  const auto ndim = static_cast<uint32_t>(array_.ndim);
  if (value.form == CAI_FORM_MISSING || value.form == CAI_FORM_NONE) return assume_c_order();
  if (!values_.validate_tuple(value, CAI_ENTRY_STRIDES, clause::kStrides)) return false;
  if (value.length != ndim) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_STRIDES, -1, value, clause::kStrides,
                 ": expected %u items, as shape has, or None for C order, got %u: %s", ndim,
                 value.length, Printed(value).c_str());
    return false;
  }
  if (array_.dtype.kind == 't') {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_STRIDES, -1, value, clause::kStrides,
                 ": expected None, as the items are bits, got %s in bytes", Printed(value).c_str());
    return false;
  }
  array_.strides = read_dims(value, CAI_ENTRY_STRIDES, clause::kStrides, INT64_MIN);
  if (!array_.strides && ndim) return false;
  switch (
      compute_extent(array_.ndim, array_.shape, array_.strides, array_.dtype.itemsize, &extent_)) {
    case LayoutFault::shape:
      report_size();
      return false;
    case LayoutFault::strides:
      judge_.error(CAI_ERR_VALUE, CAI_ENTRY_STRIDES, -1, value, clause::kStrides,
                   ": expected an extent in bytes of 63 bits, got %s, which reaches too far",
                   Printed(value).c_str());
      return false;
    case LayoutFault::none:
      break;
  }
  return true;
}

void Reader::report_size() noexcept {
  judge_.error(CAI_ERR_VALUE, CAI_ENTRY_SHAPE, -1, in_.shape, clause::kShape,
               ": expected a size in bytes of 63 bits, got %s, which is too large",
               Printed(in_.shape).c_str());
}

void Reader::read_pointer(const cai_value &pointer, bool layout_known) noexcept {
  const bool empty = layout_known && extent_.empty();
  if (pointer.form == CAI_FORM_NONE && empty) {
    judge_.lenience(CAI_ERR_TYPE, CAI_ENTRY_DATA, 0, pointer, clause::kData,
                    "[0]: expected 0, as there are no elements, got None: write (0, False)");
    return;
  }
  uint64_t data;
  if (!values_.read_unsigned(pointer, CAI_ENTRY_DATA, 0, clause::kData, &data)) return;
  // NumPy's text asks for no address there, and its arrays have one.
  if (empty && data != 0 && in_.protocol != CAI_PROTOCOL_HOST) {
    judge_.lenience(CAI_ERR_VALUE, CAI_ENTRY_DATA, 0, pointer, clause::kData,
                    "[0]: expected 0, as there are no elements, got %s: write (0, False)",
                    Printed(pointer).c_str());
    return;
  }
  if (!layout_known || empty) return;
  if (data == 0) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_DATA, 0, pointer, clause::kData,
                 "[0]: expected an address, as there are elements, got 0, a null pointer: "
                 "allocate first, or write an extent of 0");
    return;
  }
  if (extent_wraps(data, extent_)) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_DATA, 0, pointer, clause::kData,
                 "[0] is %s: its extent of [%lld, %lld) bytes leaves the address space",
                 Printed(pointer).c_str(), static_cast<long long>(extent_.lo),
                 static_cast<long long>(extent_.hi));
    return;
  }
  array_.data = data;
}

void Reader::read_readonly(const cai_value &flag) noexcept {
  bool readonly = flag.integer != 0;
  if (flag.form != CAI_FORM_BOOL) {
    const bool integer = flag.form == CAI_FORM_INT || flag.form == CAI_FORM_INDEX;
    if (!integer || flag.range != CAI_RANGE_INT64 || flag.integer > 1) {
      judge_.error(CAI_ERR_TYPE, CAI_ENTRY_DATA, 1, flag, clause::kData,
                   "[1]: expected a bool, which says whether it is read-only, got %s",
                   Printed(flag).c_str());
      return;
    }
    judge_.lenience(CAI_ERR_TYPE, CAI_ENTRY_DATA, 1, flag, clause::kData,
                    "[1]: expected a bool, got %s: convert it by bool()", Printed(flag).c_str());
  }
  if (readonly) array_.flags |= CAI_FLAG_READONLY;
}

void Reader::read_data(bool layout_known) noexcept {
  const cai_value &value = in_.data;
  if (!values_.validate_tuple(value, CAI_ENTRY_DATA, clause::kData)) return;
  if (value.length != 2 || !value.items) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_DATA, -1, value, clause::kData,
                 ": expected a pointer and a flag, got %u items, %s: write (address, False)",
                 value.length, Printed(value).c_str());
    return;
  }
  read_pointer(value.items[0], layout_known);
  read_readonly(value.items[1]);
}

void Reader::read_descr() noexcept {
  if (in_.descr.form == CAI_FORM_MISSING || in_.descr.form == CAI_FORM_NONE) return;
  const Descr descr =
      cai::read_descr(in_.descr, array_.dtype, says_other_order(in_.typestr), judge_, storage_);
  array_.descr = descr.fields;
  array_.descr_count = descr.count;
  array_.dtype.ext = descr.ext;
  if (descr.swapped && descr.fields) array_.flags |= CAI_FLAG_SWAPPED;
}

void Reader::read_stream() noexcept {
  const cai_value &value = in_.stream;
  if (is_host() || value.form == CAI_FORM_MISSING || value.form == CAI_FORM_NONE) {
    array_.stream_kind = is_host() || array_.version >= 3 ? CAI_STREAM_NONE : CAI_STREAM_UNSTATED;
    return;
  }
  uint64_t stream;
  if (!values_.read_unsigned(value, CAI_ENTRY_STREAM, -1, clause::kStream, &stream)) return;
  if (stream == 0) {
    judge_.lenience(
        CAI_ERR_VALUE, CAI_ENTRY_STREAM, -1, value, clause::kStream,
        ": expected None, 1, 2 or a handle, got 0, which is disallowed: write 1 for the "
        "legacy default stream, as which it is read");
    stream = 1;
  }
  array_.stream = stream;
  array_.stream_kind = CAI_STREAM_STREAM;
}

void Reader::read_mask() noexcept {
  const cai_value &value = in_.mask;
  if (value.form == CAI_FORM_MISSING || value.form == CAI_FORM_NONE) return;
  if (is_mask_) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_MASK, -1, value, clause::kMask,
                 ": expected None, as a mask has no mask, got %s", Printed(value).c_str());
    return;
  }
  if (value.form != CAI_FORM_INTERFACE || !in_.mask_interface) {
    judge_.error(CAI_ERR_TYPE, CAI_ENTRY_MASK, -1, value, clause::kMask,
                 ": expected an object with an interface, got %s: wrap its dict in one",
                 Printed(value).c_str());
    return;
  }
  const cai_interface &mask_in = *in_.mask_interface;
  if (mask_in.protocol != in_.protocol) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_MASK, -1, value, clause::kMask,
                 ": expected the array's own protocol, got %s, which is not of it",
                 Printed(value).c_str());
    return;
  }
  auto *const mask = storage_.take<cai_array>(1);
  if (!mask) {
    judge_.abandon(CAI_ERR_STORAGE, "the storage is too small for the mask");
    return;
  }
  *mask = {};
  const cai_status before = judge_.verdict();
  {
    const Judge::WithinMask within(judge_);
    Reader(mask_in, true, judge_, storage_).read(mask);
  }
  if (judge_.verdict() != before || mask->abi_major == 0) return;
  if (!can_be_mask(mask->dtype.kind)) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_MASK, -1, mask_in.typestr, clause::kMask,
                 ": expected elements that are true or false, as of '|b1', got typestr %s",
                 Printed(mask_in.typestr).c_str());
    return;
  }
  if (!broadcasts(mask->shape, mask->ndim, array_.shape, array_.ndim)) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_MASK, -1, mask_in.shape, clause::kMask,
                 ": expected a shape that broadcasts to %s, got %s, which does not broadcast",
                 Printed(in_.shape).c_str(), Printed(mask_in.shape).c_str());
    return;
  }
  if (mask->dtype.kind == 'f' || mask->dtype.kind == 'c') {
    judge_.advice(CAI_ENTRY_MASK, -1, mask_in.typestr, clause::kMask,
                  " has typestr %s: what is not 0 is true, which few consumers expect of it",
                  Printed(mask_in.typestr).c_str());
  }
  array_.mask = mask;
  array_.flags |= CAI_FLAG_MASKED;
}

void Reader::read_offset() noexcept {
  const cai_value &value = in_.offset;
  if (!is_host() || value.form == CAI_FORM_MISSING) return;
  const bool is_integer = value.form == CAI_FORM_INT || value.form == CAI_FORM_INDEX;
  if (is_integer && value.range == CAI_RANGE_INT64 && value.integer == 0) {
    int64_t none;
    values_.read_signed(value, CAI_ENTRY_OFFSET, -1, clause::kOffset, &none);
    return;
  }
  judge_.error(CAI_ERR_VALUE, CAI_ENTRY_OFFSET, -1, value, clause::kOffset,
               ": expected 0, got %s: add it to the address in data", Printed(value).c_str());
}

void Reader::advise_alignment() noexcept {
  const uint32_t itemsize = array_.dtype.itemsize;
  if (array_.dtype.kind == 't' || extent_.empty()) return;
  for (int32_t axis = 0; axis < array_.ndim; ++axis) {
    if (array_.shape[axis] > 1 && array_.strides[axis] % itemsize != 0) {
      judge_.advice(CAI_ENTRY_STRIDES, axis, in_.strides, clause::kAlignment,
                    "[%d] is %lld, no multiple of the item size %u: are these elements, not bytes?",
                    axis, static_cast<long long>(array_.strides[axis]), itemsize);
    }
  }
  const bool is_number = std::strchr("biufcmM", array_.dtype.kind) != nullptr;
  const uint32_t alignment = std::min<uint32_t>(itemsize, 16);
  if (is_number && array_.data % alignment != 0) {
    judge_.advice(CAI_ENTRY_DATA, 0, in_.data.items[0], clause::kAlignment,
                  "[0] is %s, not aligned to %u bytes", Printed(in_.data.items[0]).c_str(),
                  alignment);
  }
}

void Reader::read(cai_array *array) noexcept {
  if (!read_form()) return;
  array_.abi_major = CAI_ABI_MAJOR;
  array_.abi_minor = CAI_ABI_MINOR;
  array_.device_type = is_host() ? CAI_DEVICE_CPU : CAI_DEVICE_CUDA;
  array_.device_id = is_host() ? 0 : -1;

  read_version();
  if (!going_on()) return;
  const bool shape_known = read_shape();
  if (!going_on()) return;
  const bool dtype_known = read_typestr();
  if (!going_on()) return;
  const bool known = shape_known && dtype_known && read_strides();
  if (!going_on()) return;
  read_data(known);
  if (!going_on()) return;
  if (dtype_known) read_descr();
  if (!going_on()) return;
  read_stream();
  if (!going_on()) return;
  read_offset();
  if (shape_known) read_mask();
  if (judge_.verdict() == CAI_OK && judge_.listens()) advise_alignment();
  if (judge_.verdict() == CAI_OK) *array = array_;
}

}  // namespace
}  // namespace cai

using namespace cai;

namespace {

const cai_interface *mask_of(const cai_interface &in) noexcept {
  return in.mask.form == CAI_FORM_INTERFACE ? in.mask_interface : nullptr;
}

bool is_known(const cai_interface &in) noexcept {
  return in.struct_size >= first_size<cai_interface> && in.struct_size <= most_size &&
         !asks_for_more(&in, sizeof in, in.struct_size);
}

// The size is checked first: fields beyond it are not read.
bool is_whole(const cai_interface &in) noexcept {
  if (!is_known(in)) return false;
  const cai_interface *const mask = mask_of(in);
  return !mask || is_known(*mask);
}

// Reads an interface without its mask.
uint64_t part_storage(const cai_interface &in) noexcept {
  const uint64_t ndim = std::min<uint32_t>(in.shape.length, CAI_MAX_NDIM);
  return 2 * ndim * sizeof(int64_t) +
         (in.descr.form == CAI_FORM_LIST ? descr_storage(in.descr) : 0);
}

}  // namespace

uint64_t cai_interface_storage(const cai_interface *in) {
  if (!in || !is_whole(*in)) return 0;
  const cai_interface *const mask = mask_of(*in);
  return part_storage(*in) + (mask ? sizeof(cai_array) + part_storage(*mask) : 0);
}

cai_status cai_interface_read(const cai_interface *in, uint32_t mode, cai_finding_fn on_finding,
                              void *context, void *storage, uint64_t storage_size, cai_array *out,
                              cai_error *error) {
  if (!in || !out || (!storage && storage_size)) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "in, out or storage is NULL");
  }
  if (!is_whole(*in) || in->protocol > CAI_PROTOCOL_HOST || mode > CAI_STRICT) {
    return fail(
        error, CAI_ERR_ARGUMENT, {},
        "struct_size %u (or the mask's), protocol %u or mode %u is not one that this library knows",
        in->struct_size, in->protocol, mode);
  }
  if (reinterpret_cast<uintptr_t>(storage) % 8 != 0) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "the storage is not aligned to 8 bytes");
  }
  Judge judge(mode, on_finding, context, error);
  Storage pieces(storage, storage_size);
  Reader(*in, false, judge, pieces).read(out);
  return judge.verdict();
}
