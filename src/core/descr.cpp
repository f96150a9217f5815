// SPDX-License-Identifier: BSD-3-Clause
#include "core/descr.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "core/fields.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"

namespace cai {
namespace {

constexpr const char *kClause =
    "CAI v3, descr: as in NumPy's array interface, a list of tuples (name, format[, shape]); the name "
    "is a string or a tuple (title, name), the format a typestr or such a list; the sizes add up to "
    "the item size";

bool is_text(const cai_value &value) noexcept {
  return value.form == CAI_FORM_TEXT || value.form == CAI_FORM_TEXT_SUBCLASS;
}

bool is_sequence(const cai_value &value) noexcept {
  return value.form == CAI_FORM_TUPLE || value.form == CAI_FORM_TUPLE_SUBCLASS ||
         value.form == CAI_FORM_LIST;
}

uint64_t text_storage(const cai_value &value) noexcept {
  return is_text(value) ? round_up8(uint64_t{value.length} + 1) : 0;
}

uint64_t list_storage(const cai_value &list, int depth, uint32_t *fields_left) noexcept {
  if (!is_sequence(list) || !list.items || depth >= CAI_MAX_DESCR_DEPTH) return 0;
  if (list.length > *fields_left) return 0;  // the read fails before they are stored
  *fields_left -= list.length;
  uint64_t bytes = list.length * sizeof(cai_field);
  for (uint32_t i = 0; i < list.length; ++i) {
    const cai_value &field = list.items[i];
    if (!is_sequence(field) || !field.items || field.length < 2) continue;
    const cai_value &name = field.items[0];
    bytes += text_storage(name);
    if (is_sequence(name) && name.items && name.length == 2) {
      bytes += text_storage(name.items[0]) + text_storage(name.items[1]);
    }
    bytes += list_storage(field.items[1], depth + 1, fields_left);
    if (field.length > 2) {
      const cai_value &shape = field.items[2];
      const uint32_t ndim = is_sequence(shape) ? shape.length : 1;
      bytes += std::min<uint32_t>(ndim, CAI_MAX_NDIM) * sizeof(int64_t);
    }
  }
  return bytes;
}

class DescrReader {
 public:
  DescrReader(Judge &judge, Storage &storage) noexcept : judge_(judge), storage_(storage) {}

  struct List {
    cai_field *fields = nullptr;
    uint32_t count = 0;
    uint64_t bytes = 0;
  };

  bool read_list(const cai_value &list, int depth, List *out) noexcept;
  bool swapped() const noexcept { return swapped_; }
  // Whether any typestr in it says the other byte order, also of bytes, which have none.
  bool says_other_order() const noexcept { return says_other_order_; }

 private:
  bool read_field(const cai_value &item, int32_t index, int depth, cai_field *out) noexcept;
  bool read_name(const cai_value &name, int32_t index, cai_field *out) noexcept;
  bool read_text(const cai_value &text, int32_t index, const char *role, const char **out) noexcept;
  bool read_format(const cai_value &format, int32_t index, int depth, cai_field *out) noexcept;
  bool read_shape(const cai_value &shape, int32_t index, cai_field *out) noexcept;
  bool read_extent(const cai_value &extent, int32_t index, int64_t *out) noexcept;
  bool names_differ(const cai_value &list, const List &read) noexcept;

  bool refuse(cai_status status, int32_t index, const cai_value &value, const char *why) noexcept {
    judge_.error(status, CAI_ENTRY_DESCR, index, value, kClause, "[%d]: %s %s", index,
                 Printed(value).c_str(), why);
    return false;
  }
  void tolerate(int32_t index, const cai_value &value, const char *why) noexcept {
    judge_.lenience(CAI_ERR_TYPE, CAI_ENTRY_DESCR, index, value, kClause, "[%d]: %s %s", index,
                    Printed(value).c_str(), why);
  }
  bool out_of_storage() noexcept {
    judge_.abandon(CAI_ERR_STORAGE, "the storage is too small for the descr");
    return false;
  }

  Judge &judge_;
  Storage &storage_;
  uint32_t fields_left_ = CAI_MAX_DESCR_FIELDS;
  bool swapped_ = false;
  bool says_other_order_ = false;
};

bool DescrReader::read_text(const cai_value &text, int32_t index, const char *role,
                            const char **out) noexcept {
  if (!is_text(text) || (text.length && !text.text)) {
    judge_.error(CAI_ERR_TYPE, CAI_ENTRY_DESCR, index, text, kClause,
                 "[%d]: the %s is %s, not a string", index, role, Printed(text).c_str());
    return false;
  }
  if (text.form == CAI_FORM_TEXT_SUBCLASS) tolerate(index, text, "is of a subclass of str");
  if (text.length && std::memchr(text.text, '\0', text.length)) {
    return refuse(CAI_ERR_VALUE, index, text, "has a NUL inside");
  }
  if (!is_utf8(text.text, text.length)) return refuse(CAI_ERR_VALUE, index, text, "is not UTF-8");
  *out = copy_string(text.length ? text.text : "", text.length, storage_);
  return *out || out_of_storage();
}

bool DescrReader::read_name(const cai_value &name, int32_t index, cai_field *out) noexcept {
  if (!is_sequence(name)) return read_text(name, index, "name", &out->name);
  if (name.form != CAI_FORM_TUPLE) tolerate(index, name, "is not a tuple");
  if (name.length != 2 || !name.items) {
    return refuse(CAI_ERR_VALUE, index, name, "is neither a name nor (title, name)");
  }
  return read_text(name.items[0], index, "title", &out->title) &&
         read_text(name.items[1], index, "name", &out->name);
}

bool DescrReader::read_format(const cai_value &format, int32_t index, int depth,
                              cai_field *out) noexcept {
  if (is_sequence(format)) {
    List nested;
    if (!read_list(format, depth + 1, &nested)) return false;
    if (nested.bytes == 0) return refuse(CAI_ERR_VALUE, index, format, "has no bytes");
    out->fields = nested.fields;
    out->field_count = nested.count;
    out->dtype.kind = 'V';
    out->dtype.byteorder = '|';
    out->dtype.itemsize = static_cast<uint32_t>(nested.bytes);
    return true;
  }
  if (!is_text(format) || !format.text) {
    return refuse(CAI_ERR_TYPE, index, format, "is neither a typestr nor a list of fields");
  }
  const ParsedTypestr parsed = parse_typestr(format.text, format.length);
  if (parsed.spelling == Spelling::wrong) return refuse(CAI_ERR_VALUE, index, format, parsed.fault);
  if (parsed.dtype.kind == 't') return refuse(CAI_ERR_VALUE, index, format, "is of bits");
  if (parsed.spelling == Spelling::loose) {
    judge_.lenience(CAI_ERR_VALUE, CAI_ENTRY_DESCR, index, format, kClause, "[%d]: %s %s", index,
                    Printed(format).c_str(), parsed.fault);
  }
  if (format.form == CAI_FORM_TEXT_SUBCLASS) tolerate(index, format, "is of a subclass of str");
  out->dtype = parsed.dtype;
  swapped_ = swapped_ || is_swapped(parsed.dtype);
  says_other_order_ = says_other_order_ || cai::says_other_order(format);
  return true;
}

bool DescrReader::read_extent(const cai_value &extent, int32_t index, int64_t *out) noexcept {
  if (extent.form != CAI_FORM_INT && extent.form != CAI_FORM_INDEX) {
    return refuse(CAI_ERR_TYPE, index, extent, "is no extent of a sub-array");
  }
  if (extent.form == CAI_FORM_INDEX) tolerate(index, extent, "is not exactly an int");
  const auto value = static_cast<int64_t>(extent.integer);
  if (extent.range != CAI_RANGE_INT64 || value < 0) {
    return refuse(CAI_ERR_VALUE, index, extent, "is no extent of a sub-array");
  }
  *out = value;
  return true;
}

bool DescrReader::read_shape(const cai_value &shape, int32_t index, cai_field *out) noexcept {
  const cai_value *items = &shape;
  uint32_t ndim = 1;
  if (is_sequence(shape)) {
    items = shape.items;
    ndim = shape.length;
  }
  if (shape.form != CAI_FORM_TUPLE) tolerate(index, shape, "is not a tuple");
  if (ndim > CAI_MAX_NDIM || (ndim && !items)) {
    return refuse(CAI_ERR_VALUE, index, shape, "has too many dimensions");
  }
  if (ndim == 0) return true;
  auto *const extents = storage_.take<int64_t>(ndim);
  if (!extents) return out_of_storage();
  for (uint32_t axis = 0; axis < ndim; ++axis) {
    if (!read_extent(items[axis], index, &extents[axis])) return false;
  }
  out->shape = extents;
  out->ndim = static_cast<int32_t>(ndim);
  return true;
}

bool DescrReader::read_field(const cai_value &item, int32_t index, int depth,
                             cai_field *out) noexcept {
  if (!is_sequence(item)) return refuse(CAI_ERR_TYPE, index, item, "is not a tuple");
  if (item.form != CAI_FORM_TUPLE) tolerate(index, item, "is not exactly a tuple");
  if (!item.items && item.length) return refuse(CAI_ERR_VALUE, index, item, "is nested too deep");
  if (item.length < 2 || item.length > 3) {
    return refuse(CAI_ERR_VALUE, index, item, "is not (name, format) or (name, format, shape)");
  }
  std::memset(out, 0, sizeof *out);
  return read_name(item.items[0], index, out) && read_format(item.items[1], index, depth, out) &&
         (item.length == 2 || read_shape(item.items[2], index, out));
}

bool DescrReader::names_differ(const cai_value &list, const List &read) noexcept {
  const char *shared;
  if (!find_shared_name(read.fields, read.count, &shared)) {
    judge_.abandon(CAI_ERR_MEMORY, "no host memory left");
    return false;
  }
  if (!shared) return true;
  judge_.error(CAI_ERR_VALUE, CAI_ENTRY_DESCR, -1, list, kClause,
               " uses the name or title '%s' twice", shared);
  return false;
}

bool DescrReader::read_list(const cai_value &list, int depth, List *out) noexcept {
  if (list.form != CAI_FORM_LIST) {
    judge_.error(CAI_ERR_TYPE, CAI_ENTRY_DESCR, -1, list, kClause, " is %s, not a list",
                 Printed(list).c_str());
    return false;
  }
  if (depth >= CAI_MAX_DESCR_DEPTH || (list.length && !list.items)) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_DESCR, -1, list, kClause,
                 " is nested deeper than %d lists: %s", CAI_MAX_DESCR_DEPTH, Printed(list).c_str());
    return false;
  }
  if (list.length > fields_left_) {
    judge_.error(CAI_ERR_VALUE, CAI_ENTRY_DESCR, -1, list, kClause, " has more than %d fields",
                 CAI_MAX_DESCR_FIELDS);
    return false;
  }
  if (list.length == 0) return true;
  fields_left_ -= list.length;
  out->fields = storage_.take<cai_field>(list.length);
  if (!out->fields) return out_of_storage();
  out->count = list.length;
  for (uint32_t i = 0; i < list.length; ++i) {
    const auto index = static_cast<int32_t>(i);
    cai_field &field = out->fields[i];
    if (!read_field(list.items[i], index, depth, &field)) return false;
    uint64_t bytes;
    field.offset = out->bytes;
    const bool fits = field_size(field, &bytes);
    if (fits) out->bytes += bytes;
    if (!fits || out->bytes > UINT32_MAX) {
      return refuse(CAI_ERR_VALUE, index, list.items[i], "makes the item too large");
    }
  }
  return names_differ(list, *out);
}

// [("", typestr)]
bool says_no_more(const cai_field &field, const cai_dtype &dtype) noexcept {
  return !*field.name && !field.title && !field.ndim && !field.field_count &&
         same_dtype(field.dtype, dtype);
}

// [("bfloat16", "<V2")]: no field, but a type that a typestr cannot express.
uint8_t named_extension(const cai_field &field, const cai_dtype &dtype) noexcept {
  const bool is_plain = !field.title && !field.ndim && !field.field_count;
  return is_plain && same_dtype(field.dtype, dtype) && dtype.kind == 'V'
             ? extension_named(field.name, dtype.itemsize)
             : uint8_t{CAI_EXT_NONE};
}

}  // namespace

uint64_t descr_storage(const cai_value &descr) noexcept {
  uint32_t fields_left = CAI_MAX_DESCR_FIELDS;
  return list_storage(descr, 0, &fields_left);
}

bool says_other_order(const cai_value &typestr) noexcept {
  return typestr.text[0] == kOtherOrder;
}

Descr read_descr(const cai_value &descr, const cai_dtype &dtype, bool is_other_order, Judge &judge,
                 Storage &storage) noexcept {
  DescrReader reader(judge, storage);
  DescrReader::List list;
  if (!reader.read_list(descr, 0, &list)) return {};
  if (dtype.kind == 't') {
    judge.error(CAI_ERR_VALUE, CAI_ENTRY_DESCR, -1, descr, kClause, " gives fields to a bit: %s",
                Printed(descr).c_str());
    return {};
  }
  if (list.bytes != dtype.itemsize) {
    judge.error(CAI_ERR_VALUE, CAI_ENTRY_DESCR, -1, descr, kClause,
                ": expected fields of %u bytes, as typestr says, got %llu: %s", dtype.itemsize,
                static_cast<unsigned long long>(list.bytes), Printed(descr).c_str());
    return {};
  }
  if (list.count == 1) {
    const cai_field &field = list.fields[0];
    if (says_no_more(field, dtype)) return {};
    if (const uint8_t ext = named_extension(field, dtype)) {
      const bool is_other = dtype.itemsize > 1 && (is_other_order || reader.says_other_order());
      return {nullptr, 0, false, is_other ? uint8_t{CAI_EXT_NONE} : ext};
    }
  }
  return {list.fields, list.count, reader.swapped(), CAI_EXT_NONE};
}

}  // namespace cai
