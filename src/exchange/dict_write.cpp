// SPDX-License-Identifier: BSD-3-Clause
// Writes an array as the values of a dict.
#include <cstring>

#include "core/error.hpp"
#include "core/layout.hpp"
#include "core/sizes.hpp"
#include "core/storage.hpp"
#include "core/typestr.hpp"
#include "order/owned.hpp"
#include "order/publish.hpp"
#include "order/waiting.hpp"

namespace cai::exchange {
namespace {

cai_value value_of_form(uint8_t form) noexcept {
  cai_value value{};
  value.form = form;
  return value;
}

cai_value integer_value(int64_t integer) noexcept {
  cai_value value = value_of_form(CAI_FORM_INT);
  value.integer = static_cast<uint64_t>(integer);
  return value;
}

cai_value unsigned_value(uint64_t integer) noexcept {
  cai_value value = value_of_form(CAI_FORM_INT);
  value.integer = integer;
  value.range = integer > INT64_MAX ? CAI_RANGE_UINT64 : CAI_RANGE_INT64;
  return value;
}

cai_value text_value(const char *text) noexcept {
  cai_value value = value_of_form(CAI_FORM_TEXT);
  value.text = text;
  value.length = static_cast<uint32_t>(std::strlen(text));
  return value;
}

cai_value sequence_value(uint8_t form, const cai_value *items, uint32_t length) noexcept {
  cai_value value = value_of_form(form);
  value.items = items;
  value.length = length;
  return value;
}

// The bytes for the values of all fields: each a tuple of name, format and shape.
uint64_t fields_write_storage(const cai_field *fields, uint32_t count) noexcept {
  uint64_t bytes = count * sizeof(cai_value);
  for (uint32_t i = 0; i < count; ++i) {
    const cai_field &field = fields[i];
    bytes += 3 * sizeof(cai_value);
    if (field.title) bytes += 2 * sizeof(cai_value);
    bytes += static_cast<uint64_t>(field.ndim) * sizeof(cai_value);
    bytes += field.field_count ? fields_write_storage(field.fields, field.field_count)
                               : uint64_t{CAI_TYPESTR_SIZE};
  }
  return bytes;
}

// The field by whose name a descr expresses a type that a typestr cannot.
cai_field named_field(const cai_dtype &dtype) noexcept {
  cai_field field{};
  field.name = name_of_extension(dtype.ext);
  field.dtype = dtype;
  return field;
}

uint64_t descr_write_storage(const cai_array &array) noexcept {
  if (array.descr) return fields_write_storage(array.descr, array.descr_count);
  if (!array.dtype.ext) return 0;
  const cai_field named = named_field(array.dtype);
  return fields_write_storage(&named, 1);
}

// For a valid array, without its mask.
uint64_t part_storage(const cai_array &array) noexcept {
  const auto ndim = static_cast<uint64_t>(array.ndim);
  return (2 * ndim + 2) * sizeof(cai_value) + CAI_TYPESTR_SIZE + descr_write_storage(array);
}

uint64_t write_storage(const cai_array &array) noexcept {
  return part_storage(array) + (array.mask ? sizeof(cai_interface) + part_storage(*array.mask) : 0);
}

// part_storage() has counted every piece, so none is NULL.
class Writer {
 public:
  explicit Writer(Storage &storage) noexcept : storage_(storage) {}

  // `unstated` is the stream for an array that states none.
  void write(const cai_array &array, uint32_t version, uint64_t unstated,
             cai_interface &out) noexcept {
    out.struct_size = sizeof out;
    out.protocol = array.device_type == CAI_DEVICE_CPU ? CAI_PROTOCOL_HOST : CAI_PROTOCOL_CUDA;
    out.dict.form = CAI_FORM_DICT;
    out.shape = dims_value(array.shape, array.ndim);
    out.typestr = typestr_value(array.dtype);
    auto *const data = storage_.take<cai_value>(2);
    data[0] = unsigned_value(array.data);
    data[1] = value_of_form(CAI_FORM_BOOL);
    data[1].integer = (array.flags & CAI_FLAG_READONLY) != 0;
    out.data = sequence_value(CAI_FORM_TUPLE, data, 2);
    out.version = unsigned_value(version);
    const bool c_order = array.data == 0 || is_c_contiguous(array.ndim, array.shape, array.strides,
                                                            array.dtype.itemsize);
    out.strides = c_order ? value_of_form(CAI_FORM_NONE) : dims_value(array.strides, array.ndim);
    if (array.descr) {
      out.descr = fields_value(array.descr, array.descr_count);
    } else if (array.dtype.ext) {
      const cai_field named = named_field(array.dtype);
      out.descr = fields_value(&named, 1);
    }
    if (out.protocol == CAI_PROTOCOL_CUDA && version >= 3)
      out.stream = stream_value(array, unstated);
  }

 private:
  cai_value dims_value(const int64_t *dims, int32_t ndim) noexcept {
    const auto count = static_cast<uint32_t>(ndim);
    auto *const items = storage_.take<cai_value>(count);
    for (uint32_t i = 0; i < count; ++i) items[i] = integer_value(dims[i]);
    return sequence_value(CAI_FORM_TUPLE, items, count);
  }

  cai_value typestr_value(const cai_dtype &dtype) noexcept {
    char *const text = storage_.take<char>(CAI_TYPESTR_SIZE);
    format_typestr(dtype, text);
    return text_value(text);
  }

  static cai_value stream_value(const cai_array &array, uint64_t unstated) noexcept {
    if (array.stream_kind == CAI_STREAM_NONE) return value_of_form(CAI_FORM_NONE);
    return unsigned_value(array.stream_kind == CAI_STREAM_UNSTATED ? unstated : array.stream);
  }

  cai_value name_value(const cai_field &field) noexcept {
    if (!field.title) return text_value(field.name);
    auto *const pair = storage_.take<cai_value>(2);
    pair[0] = text_value(field.title);
    pair[1] = text_value(field.name);
    return sequence_value(CAI_FORM_TUPLE, pair, 2);
  }

  cai_value fields_value(const cai_field *fields, uint32_t count) noexcept {
    auto *const items = storage_.take<cai_value>(count);
    for (uint32_t i = 0; i < count; ++i) {
      const cai_field &field = fields[i];
      auto *const parts = storage_.take<cai_value>(3);
      parts[0] = name_value(field);
      parts[1] = field.field_count ? fields_value(field.fields, field.field_count)
                                   : typestr_value(field.dtype);
      if (field.ndim) parts[2] = dims_value(field.shape, field.ndim);
      items[i] = sequence_value(CAI_FORM_TUPLE, parts, field.ndim ? 3 : 2);
    }
    return sequence_value(CAI_FORM_LIST, items, count);
  }

  Storage &storage_;
};

bool may_be_in_use(const cai_array &array) noexcept {
  return array.device_type != CAI_DEVICE_CPU && array.data && order::none_is_stale(array);
}

// Whether a dict of this version can express the whole array.
cai_status validate_exportable(const cai_array &array, uint32_t version,
                               cai_error *error) noexcept {
  switch (array.device_type) {
    case CAI_DEVICE_CPU:
    case CAI_DEVICE_CUDA:
    case CAI_DEVICE_CUDA_HOST:
    case CAI_DEVICE_CUDA_MANAGED:
      break;
    default:
      return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_DATA},
                  "data is on device type %d, which the interface does not know",
                  array.device_type);
  }
  const auto stream = static_cast<unsigned long long>(array.stream);
  if (array.stream_kind == CAI_STREAM_EVENT) {
    return fail(
        error, CAI_ERR_EXPORT, {CAI_ENTRY_STREAM},
        "stream is the event 0x%llx, which a dict cannot carry: cai_array_publish() it on a stream",
        stream);
  }
  if (array.stream_kind == CAI_STREAM_NONE && may_be_in_use(array)) {
    return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_STREAM},
                "stream is None, but uses of the array may be pending: cai_array_publish() it");
  }
  if (is_of_another_thread(array)) {
    return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_STREAM},
                "stream is 2 of another thread, and on this thread another stream: "
                "call cai_array_publish_event() there");
  }
  if (version == 2 && array.stream_kind == CAI_STREAM_STREAM) {
    return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_STREAM},
                "stream is 0x%llx, which version 2 cannot carry: synchronise first", stream);
  }
  return CAI_OK;
}

}  // namespace
}  // namespace cai::exchange

using namespace cai;
using namespace cai::exchange;

uint64_t cai_interface_write_storage(const cai_array *array) {
  return array && cai_array_validate(array, nullptr) == CAI_OK ? write_storage(*array) : 0;
}

cai_status cai_interface_write(const cai_array *array, uint32_t version, void *storage,
                               uint64_t storage_size, cai_interface *out, cai_error *error) {
  if (!array || !out || (!storage && storage_size)) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "array, out or storage is NULL");
  }
  if ((version != 2 && version != 3) || reinterpret_cast<uintptr_t>(storage) % 8 != 0) {
    return fail(error, CAI_ERR_ARGUMENT, {},
                "version %u is not 2 or 3, or the storage is not aligned to 8 bytes", version);
  }
  if (const cai_status status = cai_array_validate(array, error)) return status;
  if (const cai_status status = validate_not_freed(*array, error)) return status;
  if (out->struct_size < first_size<cai_interface>) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "out->struct_size is %u, less than %zu",
                out->struct_size, first_size<cai_interface>);
  }
  if (const cai_status status = validate_exportable(*array, version, error)) return status;
  if (array->mask) {
    cai_error inner;
    if (const cai_status status = validate_exportable(mask_of(*array), version, &inner)) {
      return fail(error, status, {CAI_ENTRY_MASK}, "mask: %s", inner.message);
    }
  }
  const uint64_t needed = write_storage(*array);
  if (needed > storage_size) {
    return fail(error, CAI_ERR_STORAGE, {}, "the storage has %llu bytes, %llu are needed",
                static_cast<unsigned long long>(storage_size),
                static_cast<unsigned long long>(needed));
  }
  order::Said streams;
  const cai_status ordered = guard(error, [&] {
    streams = order::hand_to_dict(*array);
    order::await_host_work(*array, true);
  });
  if (ordered != CAI_OK) return ordered;
  Storage pieces(storage, storage_size);
  Writer writer(pieces);
  cai_interface said{};  // from here on nothing can fail
  writer.write(*array, version, streams.array, said);
  if (array->mask) {
    auto *const mask = pieces.take<cai_interface>(1);
    *mask = {};
    writer.write(*array->mask, version, streams.mask, *mask);
    said.mask.form = CAI_FORM_INTERFACE;
    said.mask_interface = mask;
  }
  give_out(said, out);
  return CAI_OK;
}
