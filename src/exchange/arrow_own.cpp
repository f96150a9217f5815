// SPDX-License-Identifier: BSD-3-Clause
// Makes arrays from Arrow's columns.
#include <cinttypes>
#include <memory>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "exchange/arrow_format.hpp"
#include "exchange/device.hpp"
#include "order/owned.hpp"

namespace cai::exchange {
namespace {

cai_status fault(cai_error *error, cai_status status, int32_t entry, const char *what,
                 int64_t value) noexcept {
  return fail(error, status, {entry}, "%s: %s is %" PRId64, cai_entry_name(entry), what, value);
}

// Checks that a column is one axis of numbers with members within bounds.
cai_status validate_form(const ArrowSchema &schema, const ArrowDeviceArray &column,
                         cai_error *error) noexcept {
  const ArrowArray &array = column.array;
  const auto unsupported = [&](const char *what, int64_t value) {
    return fault(error, CAI_ERR_UNSUPPORTED, CAI_ENTRY_TYPESTR, what, value);
  };
  const auto wrong = [&](int32_t entry, const char *what, int64_t value) {
    return fault(error, CAI_ERR_VALUE, entry, what, value);
  };
  if (schema.dictionary || array.dictionary) {
    return fail(error, CAI_ERR_UNSUPPORTED, {CAI_ENTRY_TYPESTR},
                "typestr: the column has a dictionary");
  }
  if (schema.n_children != 0) return unsupported("the schema's n_children", schema.n_children);
  if (array.n_children != 0) return unsupported("the column's n_children", array.n_children);
  if (array.n_buffers != 2) return wrong(CAI_ENTRY_DATA, "n_buffers", array.n_buffers);
  if (!array.buffers) return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "data: buffers is NULL");
  if (array.length < 0) return wrong(CAI_ENTRY_SHAPE, "length", array.length);
  if (array.offset < 0) return wrong(CAI_ENTRY_OFFSET, "offset", array.offset);
  if (array.null_count < -1 || array.null_count > array.length) {
    return wrong(CAI_ENTRY_MASK, "null_count", array.null_count);
  }
  if (column.device_id < -1 || column.device_id > INT32_MAX) {
    return wrong(CAI_ENTRY_DATA, "device_id", column.device_id);
  }
  return CAI_OK;
}

uint64_t address(const void *pointer) noexcept {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer));
}

cai_status read_data(const ArrowArray &array, uint32_t itemsize, uint64_t *out,
                     cai_error *error) noexcept {
  if (array.length == 0) return *out = 0, CAI_OK;
  if (!array.buffers[1]) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "data is NULL, but there are elements");
  }
  int64_t skipped;
  if (!multiply(array.offset, itemsize, &skipped) ||
      __builtin_add_overflow(address(array.buffers[1]), static_cast<uint64_t>(skipped), out)) {
    return fault(error, CAI_ERR_VALUE, CAI_ENTRY_OFFSET, "offset", array.offset);
  }
  return CAI_OK;
}

// The event is the producer's, and exists as long as the column.
cai_status read_event(const ArrowDeviceArray &column, cai_array *out, cai_error *error) noexcept {
  out->stream_kind = CAI_STREAM_NONE;
  if (!column.sync_event) return CAI_OK;
  if (column.device_type == CAI_DEVICE_CPU) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STREAM},
                "stream: sync_event is %p, but the data is in host memory", column.sync_event);
  }
  out->stream = address(*static_cast<void *const *>(column.sync_event));
  out->stream_kind = CAI_STREAM_EVENT;
  if (out->stream) return CAI_OK;
  return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STREAM},
              "stream: sync_event points to a CUevent that is NULL");
}

// Turns the array of the values into the array of the validity bitmap.
cai_status read_mask(const ArrowArray &array, cai_array *mask, cai_error *error) noexcept {
  if (array.offset % 8 != 0) {
    return fail(error, CAI_ERR_UNSUPPORTED, {CAI_ENTRY_MASK},
                "mask: at offset %" PRId64 " the validity bitmap begins within a byte",
                array.offset);
  }
  mask->dtype = {'t', '|', 0, 0, 1, 0};
  mask->data = 0;
  if (array.length &&
      __builtin_add_overflow(address(array.buffers[0]), static_cast<uint64_t>(array.offset / 8),
                             &mask->data)) {
    return fault(error, CAI_ERR_VALUE, CAI_ENTRY_MASK, "the validity bitmap: offset", array.offset);
  }
  return CAI_OK;
}

void release_column(void *context) {
  const std::unique_ptr<ArrowArray> column(static_cast<ArrowArray *>(context));
  column->release(column.get());
}

cai_status own(const ArrowSchema &schema, ArrowDeviceArray &column, cai_array **out,
               cai_error *error) {
  const ArrowArray &array = column.array;
  if (const cai_status status = validate_device(column.device_type, error)) return status;
  cai_array values{};
  if (const cai_status status = read_format(schema.format, &values.dtype, error)) return status;
  if (const cai_status status = validate_form(schema, column, error)) return status;
  const int64_t itemsize = values.dtype.itemsize;
  const int64_t one_bit = 1;
  values.abi_major = CAI_ABI_MAJOR;
  values.abi_minor = CAI_ABI_MINOR;
  values.flags = CAI_FLAG_READONLY;
  values.device_type = column.device_type;
  values.device_id =
      column.device_type == CAI_DEVICE_CPU ? 0 : static_cast<int32_t>(column.device_id);
  values.ndim = 1;
  values.shape = &array.length;
  values.strides = &itemsize;
  values.version = CAI_INTERFACE_VERSION;
  if (const cai_status status = read_data(array, values.dtype.itemsize, &values.data, error)) {
    return status;
  }
  if (const cai_status status = read_event(column, &values, error)) return status;

  cai_array mask = values;
  if (array.null_count != 0 && array.buffers[0]) {
    if (const cai_status status = read_mask(array, &mask, error)) return status;
    mask.strides = &one_bit;
    values.mask = &mask;
    values.flags |= CAI_FLAG_MASKED;
  } else if (array.null_count > 0) {
    return fault(error, CAI_ERR_VALUE, CAI_ENTRY_MASK,
                 "the validity bitmap is NULL, but null_count", array.null_count);
  }

  auto moved = std::make_unique<ArrowArray>(array);
  if (const cai_status status = cai_array_own(&values, release_column, moved.get(), out, error)) {
    return status;
  }
  static_cast<void>(moved.release());
  mark_import(*(*out)->owner);
  column.array.release = nullptr;
  return CAI_OK;
}

}  // namespace
}  // namespace cai::exchange

using namespace cai;

cai_status cai_arrow_own(const struct ArrowSchema *schema, struct ArrowDeviceArray *column,
                         cai_array **out, cai_error *error) {
  if (!schema || !column || !out) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "schema, column or out is NULL");
  }
  if (!schema->release || !schema->format || !column->array.release) {
    return fail(error, CAI_ERR_ARGUMENT, {},
                "the schema or the column has been released or moved, or has no format");
  }
  cai_status status = CAI_OK;
  const cai_status thrown =
      guard(error, [&] { status = exchange::own(*schema, *column, out, error); });
  return thrown ? thrown : status;
}
