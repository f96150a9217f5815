// SPDX-License-Identifier: BSD-3-Clause
// Turns a fuzzer's bytes into what the targets need: numbers, texts and trees of raw values. Every
// text and every tuple is a block of its own, so that a sanitizer sees a read one byte too far.
#pragma once

#include <cai.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "must.h"
#include "utf8.h"

namespace fuzz {

class Input {
 public:
  Input(const std::uint8_t *data, std::size_t size) : at_(data), end_(data + size) {}

  bool done() const { return at_ == end_; }

  // 0 once the bytes are used up, so that every input ends in the plainest values.
  std::uint8_t byte() { return done() ? std::uint8_t{0} : *at_++; }

  unsigned below(unsigned bound) { return byte() % bound; }

  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }

  // Mostly small, else at some edge, else anything.
  std::int64_t number() {
    static constexpr std::int64_t edges[] = {INT64_MAX,
                                             INT64_MIN,
                                             INT64_MAX - 7,
                                             std::int64_t{1} << 62,
                                             std::int64_t{1} << 32,
                                             std::int64_t{1} << 31,
                                             -(std::int64_t{1} << 32),
                                             4096};
    const unsigned kind = byte();
    if (kind < 160) return static_cast<std::int64_t>(kind % 20) - 2;
    if (kind < 200) return edges[kind % 8];
    if (kind < 240) return static_cast<std::int8_t>(byte());
    return static_cast<std::int64_t>(word());
  }

  std::string rest() {
    std::string text(reinterpret_cast<const char *>(at_), static_cast<std::size_t>(end_ - at_));
    at_ = end_;
    return text;
  }

 private:
  const std::uint8_t *at_;
  const std::uint8_t *end_;
};

// Owns the parts of a tree of raw values.
class Values {
 public:
  explicit Values(Input &input) : input_(input) {}

  // Often a typestr or a name that might be in a dict, else any bytes.
  cai_value text(std::uint8_t form = CAI_FORM_TEXT) {
    static const char *const known[] = {
        "<f4",      "|b1", "|u1", "<i8",  ">f4",          "f4",   "=i4",  "|t1", "<M8[ns]",
        ">m8[25s]", "<U4", "|S5", "|V8",  "|V16",         "|V4",  "<c16", "<f3", "|O8",
        "",         "a",   "b",   "name", "\xe2\x82\xac", "\xff", "|V12", "<f8"};
    const unsigned which = input_.byte();
    std::string bytes;
    if (which < 200) {
      bytes = known[which % (sizeof known / sizeof known[0])];
    } else {
      for (unsigned n = input_.below(24); n > 0; --n)
        bytes.push_back(static_cast<char>(input_.byte()));
    }
    return stored(form, bytes);
  }

  cai_value integer() {
    cai_value value{};
    value.form = CAI_FORM_INT;
    value.integer = static_cast<std::uint64_t>(input_.number());
    if (input_.below(24) == 1) value.form = CAI_FORM_INDEX;
    if (input_.below(24) == 1) value.range = CAI_RANGE_UINT64;
    return value;
  }

  cai_value boolean() {
    cai_value value{};
    value.form = CAI_FORM_BOOL;
    value.integer = input_.below(2);
    return value;
  }

  cai_value items(std::uint8_t form, const std::vector<cai_value> &list) {
    cai_value value{};
    value.form = form;
    value.length = static_cast<std::uint32_t>(list.size());
    tuples_.push_back(std::make_unique<cai_value[]>(list.size() + (list.empty() ? 1 : 0)));
    for (std::size_t i = 0; i < list.size(); ++i) tuples_.back()[i] = list[i];
    value.items = tuples_.back().get();
    return value;
  }

  std::uint8_t tuple_form() {
    return input_.below(8) == 1 ? static_cast<std::uint8_t>(CAI_FORM_LIST)
                                : static_cast<std::uint8_t>(CAI_FORM_TUPLE);
  }

  cai_value integers(unsigned most) {
    std::vector<cai_value> list;
    for (unsigned n = input_.below(most + 1); n > 0; --n) list.push_back(integer());
    return items(tuple_form(), list);
  }

  // Any form at all, unknown ones included.
  cai_value anything(int depth = 3) {
    cai_value value{};
    switch (const unsigned form = input_.below(18)) {
      case CAI_FORM_INT:
      case CAI_FORM_INDEX:
        value = integer();
        value.form = static_cast<std::uint8_t>(form);
        value.range = static_cast<std::uint8_t>(input_.below(4));
        if (value.range == CAI_RANGE_BEYOND && input_.below(2)) {
          const std::uint64_t kept = value.integer;
          value = stored(static_cast<std::uint8_t>(form), "18446744073709551616");
          value.integer = kept;
          value.range = CAI_RANGE_BEYOND;
        }
        return value;
      case CAI_FORM_BOOL:
        return boolean();
      case CAI_FORM_FLOAT:
      case CAI_FORM_TEXT:
      case CAI_FORM_TEXT_SUBCLASS:
      case CAI_FORM_BYTES:
      case CAI_FORM_OBJECT:
      case CAI_FORM_DICT:
        return text(static_cast<std::uint8_t>(form));
      case CAI_FORM_TUPLE:
      case CAI_FORM_TUPLE_SUBCLASS:
      case CAI_FORM_LIST: {
        std::vector<cai_value> list;
        const unsigned n = input_.below(5);
        if (depth == 0) {  // "NULL means that the binding did not go so deep"
          value.form = static_cast<std::uint8_t>(form);
          value.length = n;
          return value;
        }
        for (unsigned i = 0; i < n; ++i) list.push_back(anything(depth - 1));
        return items(static_cast<std::uint8_t>(form), list);
      }
      default:
        value.form = static_cast<std::uint8_t>(form);
        return value;
    }
  }

  // Mostly of the shape of a descr: a list of (name, format[, shape]), at most `depth` deep.
  cai_value descr(int depth) {
    if (input_.below(32) == 1) return anything();
    std::vector<cai_value> fields;
    for (unsigned n = 1 + input_.below(4); n > 0; --n) {
      std::vector<cai_value> field;
      field.push_back(input_.below(8) == 1 ? items(CAI_FORM_TUPLE, {text(), text()}) : text());
      field.push_back(depth > 0 && input_.below(3) == 1 ? descr(depth - 1) : text());
      if (input_.below(4) == 1) field.push_back(input_.below(4) == 1 ? integer() : integers(3));
      if (input_.below(32) == 1) field.push_back(anything());
      fields.push_back(input_.below(32) == 1 ? anything() : items(tuple_form(), field));
    }
    return items(CAI_FORM_LIST, fields);
  }

  // A whole dict; a mask may have a mask, and be a dict seen before.
  const cai_interface *interface(int masks) {
    interfaces_.emplace_back();
    cai_interface &in = interfaces_.back();
    in = {};
    in.struct_size = sizeof in;
    in.protocol = input_.below(8) == 1;
    in.dict.form = CAI_FORM_DICT;
    in.shape = integers(4);
    in.typestr = text();
    cai_value pointer = integer();
    if (input_.below(4) != 1) pointer.integer = 0x7f5500000400, pointer.range = 0;
    in.data = items(tuple_form(), {pointer, boolean()});
    in.version.form = CAI_FORM_INT;
    in.version.integer = 3 - input_.below(5);
    if (input_.below(2)) in.strides = integers(4);
    if (input_.below(2) && !in.protocol) in.stream = integer();
    if (input_.below(4) == 1) in.descr = descr(3);
    if (masks > 0 && input_.below(3) == 1) {
      in.mask.form = CAI_FORM_INTERFACE;
      in.mask_interface = input_.below(16) == 1 ? &in : interface(masks - 1);
    }
    cai_value *const entries[] = {&in.dict,    &in.shape, &in.typestr, &in.data,   &in.version,
                                  &in.strides, &in.descr, &in.mask,    &in.stream, &in.offset};
    for (unsigned n = input_.below(6) == 1 ? 1 + input_.below(2) : 0; n > 0; --n) {
      *entries[input_.below(10)] = anything();
    }
    return &in;
  }

  cai_value stored(std::uint8_t form, const std::string &bytes) {
    cai_value value{};
    value.form = form;
    texts_.push_back(std::make_unique<char[]>(bytes.size() + (bytes.empty() ? 1 : 0)));
    std::memcpy(texts_.back().get(), bytes.data(), bytes.size());
    value.text = texts_.back().get();
    value.length = static_cast<std::uint32_t>(bytes.size());
    return value;
  }

 private:
  Input &input_;
  std::vector<std::unique_ptr<cai_value[]>> tuples_;
  std::vector<std::unique_ptr<char[]>> texts_;
  std::deque<cai_interface> interfaces_;
};

// The rules that every failure keeps.
inline void require_error(cai_status status, const cai_error &error) {
  MUST_HOLD(error.status == status && status < 0 && error.index >= -1);
  MUST_HOLD(error.entry >= CAI_ENTRY_NONE && error.entry <= CAI_ENTRY_OFFSET);
  MUST_HOLD(std::memchr(error.message, 0, sizeof error.message) != nullptr);
  MUST_HOLD(error.message[0] && is_utf8(error.message, std::strlen(error.message)));
}

// Storage of exactly this many bytes.
class Storage {
 public:
  explicit Storage(std::uint64_t size) : size_(size), block_(std::malloc(size ? size : 1)) {
    MUST_HOLD(block_);
  }
  ~Storage() { std::free(block_); }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;
  void *get() const { return block_; }
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_;
  void *block_;
};

inline bool same_fields(const cai_field *a, std::uint32_t a_count, const cai_field *b,
                        std::uint32_t b_count) {
  if (!a || !b || a_count != b_count) return !a && !b && a_count == b_count;
  for (std::uint32_t i = 0; i < a_count; ++i) {
    const cai_field &x = a[i], &y = b[i];
    if (std::strcmp(x.name, y.name) || !x.title != !y.title ||
        (x.title && std::strcmp(x.title, y.title)) || x.offset != y.offset ||
        std::memcmp(&x.dtype, &y.dtype, sizeof x.dtype) || x.ndim != y.ndim)
      return false;
    for (std::int32_t k = 0; k < x.ndim; ++k)
      if (x.shape[k] != y.shape[k]) return false;
    if (!same_fields(x.fields, x.field_count, y.fields, y.field_count)) return false;
  }
  return true;
}

// 1 if a dict could not distinguish them, except by its version and an unstated stream. `whole`
// compares these and all strides, too.
inline bool same_array(const cai_array &a, const cai_array &b, bool whole) {
  cai_layout x, y;
  if (cai_array_layout(&a, &x, nullptr) || cai_array_layout(&b, &y, nullptr)) return false;
  if (std::memcmp(&x, &y, sizeof x) || a.ndim != b.ndim || a.data != b.data ||
      a.device_type != b.device_type || a.device_id != b.device_id ||
      std::memcmp(&a.dtype, &b.dtype, sizeof a.dtype))
    return false;
  // Advisory flags do not travel in a dict, unknown ones nowhere.
  const std::uint32_t ignored = whole ? 0xFFFF & ~CAI_FLAG_STRIDES_NONE : 0xFFFF;
  if ((a.flags & ~ignored) != (b.flags & ~ignored)) return false;
  for (std::int32_t k = 0; k < a.ndim; ++k) {
    if (a.shape[k] != b.shape[k]) return false;
    if (a.strides[k] != b.strides[k] && (whole || (x.size > 0 && a.shape[k] > 1))) return false;
  }
  if (whole && (a.version != b.version || a.stream_kind != b.stream_kind || a.stream != b.stream))
    return false;
  const bool unstated = a.stream_kind == CAI_STREAM_UNSTATED && a.device_type != CAI_DEVICE_CPU;
  if (!whole && (b.stream != (unstated ? 1 : a.stream))) return false;
  if (!same_fields(a.descr, a.descr_count, b.descr, b.descr_count)) return false;
  if (!a.mask || !b.mask) return !a.mask && !b.mask;
  return same_array(*a.mask, *b.mask, whole);
}

inline void count_release(void *context) {
  ++*static_cast<int *>(context);
}

// 1 if the reader of the dict takes a lone field for the typestr once more, or for a type's name.
inline bool is_read_as_no_field(const cai_array &a) {
  if (a.descr_count != 1) return false;
  const cai_field &field = *a.descr;
  const bool may_name_a_type = a.dtype.kind == 'V' && a.dtype.itemsize <= 2;
  return !field.title && !field.ndim && !field.field_count && (!*field.name || may_name_a_type);
}

// 1 if a dict says all of its device and its type.
inline bool sayable(const cai_array &a) {
  const bool is_named_by_fields = a.dtype.ext != CAI_EXT_NONE && a.descr;
  return !is_named_by_fields && !is_read_as_no_field(a) &&
         ((a.device_type == CAI_DEVICE_CPU && a.device_id == 0) ||
          (a.device_type == CAI_DEVICE_CUDA && a.device_id == -1));
}

// A valid array can be owned, said as a dict, and read again, strictly; nothing is lost.
inline void require_round_trip(const cai_array &array) {
  cai_error error;
  MUST_HOLD(cai_array_validate(&array, &error) == CAI_OK);
  cai_layout layout;
  MUST_HOLD(cai_array_layout(&array, &layout, &error) == CAI_OK);
  MUST_HOLD(layout.size >= 0 && layout.nbytes >= 0 && layout.lo <= 0 && layout.hi >= 0);
  MUST_HOLD((layout.size == 0) == (layout.hi == 0));

  int released = 0;
  cai_array *owned = nullptr;
  MUST_HOLD(cai_array_own(&array, count_release, &released, &owned, &error) == CAI_OK);
  MUST_HOLD(cai_array_validate(owned, &error) == CAI_OK);
  MUST_HOLD(same_array(array, *owned, true));

  const Storage storage(cai_interface_write_storage(owned));
  cai_interface out;
  out.struct_size = sizeof out;
  const cai_status status =
      cai_interface_write(owned, 3, storage.get(), storage.size(), &out, &error);
  if (status) {
    require_error(status, error);
    MUST_HOLD(status == CAI_ERR_EXPORT);
  } else {
    const Storage again_storage(cai_interface_storage(&out));
    cai_array again;
    const cai_status read =
        cai_interface_read(&out, CAI_STRICT, nullptr, nullptr, again_storage.get(),
                           again_storage.size(), &again, &error);
    if (array.dtype.kind == 't') {  // a mask by itself, which no dict may be
      MUST_HOLD(read == CAI_ERR_VALUE && error.entry == CAI_ENTRY_TYPESTR);
      cai_array_release(owned);
      return;
    }
    if (read) std::fprintf(stderr, "%s\n", error.message);
    MUST_HOLD(read == CAI_OK);
    MUST_HOLD(cai_array_validate(&again, &error) == CAI_OK);
    if (sayable(array) && (!array.mask || sayable(*array.mask)))
      MUST_HOLD(same_array(*owned, again, false));
  }
  MUST_HOLD(released == 0);
  cai_array_release(owned);
  MUST_HOLD(released == 1);
}

}  // namespace fuzz
