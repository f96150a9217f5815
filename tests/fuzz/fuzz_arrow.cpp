// SPDX-License-Identifier: BSD-3-Clause
// Arrow's columns with good pointers, or NULL, and anything else in them: what is taken follows
// from the text alone, and so do the facts of the array; what is not is left alone. What is taken
// leaves as a column again, and that comes back as the same array. And arrays of which most are no
// column.
#include <cai/arrow.h>

#include "input.hpp"
#include "wide.hpp"

namespace {

struct Format {
  const char *text;
  char kind;
  std::uint32_t itemsize;
};
constexpr Format formats[] = {
    {"c", 'i', 1}, {"C", 'u', 1}, {"s", 'i', 2}, {"S", 'u', 2}, {"i", 'i', 4}, {"I", 'u', 4},
    {"l", 'i', 8}, {"L", 'u', 8}, {"e", 'f', 2}, {"f", 'f', 4}, {"g", 'f', 8},
};

const Format *known(const std::string &text) {
  for (const Format &format : formats)
    if (text == format.text) return &format;
  return nullptr;
}

struct Source {
  std::string format;
  ArrowSchema schema{};
  ArrowDeviceArray column{};
  ArrowArray *child = nullptr;
  ArrowSchema *schema_child = nullptr;
  const void *buffers[3]{};
  void *event = nullptr;
  int columns_released = 0, schemas_released = 0;
};

void fill(fuzz::Input &input, Source &source) {
  ArrowSchema &schema = source.schema;
  ArrowArray &array = source.column.array;
  source.format = formats[input.below(11)].text;
  schema.name = input.below(4) == 1 ? "name" : nullptr;
  schema.flags = ARROW_FLAG_NULLABLE;
  schema.private_data = array.private_data = &source;
  schema.release = [](ArrowSchema *self) {
    ++static_cast<Source *>(self->private_data)->schemas_released;
    self->release = nullptr;
  };
  array.release = [](ArrowArray *self) {
    ++static_cast<Source *>(self->private_data)->columns_released;
    self->release = nullptr;
  };
  array.length = input.below(2) ? input.below(40) : input.number();
  array.offset = input.below(2) ? 8 * input.below(4) : input.number();
  array.n_buffers = 2;
  array.buffers = source.buffers;
  source.buffers[0] = input.below(2) ? reinterpret_cast<void *>(0x7f5500001000) : nullptr;
  source.buffers[1] = reinterpret_cast<void *>(0x7f5500002000);
  array.null_count = source.buffers[0] ? static_cast<std::int64_t>(input.below(4)) - 1 : 0;
  static constexpr std::int32_t devices[] = {ARROW_DEVICE_CPU, ARROW_DEVICE_CUDA,
                                             ARROW_DEVICE_CUDA_HOST, ARROW_DEVICE_CUDA_MANAGED};
  source.column.device_type = devices[input.below(4)];
  source.column.device_id = source.column.device_type == ARROW_DEVICE_CPU ? -1 : input.below(3);
  source.event = reinterpret_cast<void *>(std::uintptr_t{input.below(3)});
  if (input.below(4) == 1) source.column.sync_event = static_cast<void *>(&source.event);
  for (unsigned n = input.below(3); n > 0; --n) {
    switch (input.below(15)) {
      case 0:
        source.format.assign(1, static_cast<char>(input.byte()));
        break;
      case 1:
        for (unsigned i = input.below(200); i > 0; --i)
          source.format.push_back(static_cast<char>(1 + input.below(255)));
        break;
      case 2:
        array.length = input.number();
        break;
      case 3:
        array.offset = input.number();
        break;
      case 4:
        array.null_count = input.number();
        break;
      case 5:
        array.n_buffers = input.number();
        break;
      case 6:
        array.buffers = nullptr;
        break;
      case 7:
        source.buffers[input.below(2)] =
            reinterpret_cast<void *>(static_cast<std::uintptr_t>(input.number()));
        break;
      case 8:
        array.n_children = input.number();
        array.children = &source.child;
        break;
      case 9:
        schema.n_children = input.number();
        schema.children = &source.schema_child;
        break;
      case 10:
        (input.below(2) ? array.dictionary = &array
                        : reinterpret_cast<ArrowArray *>(schema.dictionary = &schema));
        break;
      case 11:
        source.column.device_type = static_cast<std::int32_t>(input.number());
        break;
      case 12:
        source.column.device_id = input.number();
        break;
      case 13:
        (input.below(2) ? array.release = nullptr : nullptr);
        (input.below(2) ? schema.release = nullptr : nullptr);
        break;
      default:
        source.column.reserved[input.below(3)] = input.number();
        break;
    }
  }
  schema.format = input.below(64) == 1 ? nullptr : source.format.c_str();
}

bool is_gpu(std::int32_t device) {
  return device == CAI_DEVICE_CUDA || device == CAI_DEVICE_CUDA_HOST ||
         device == CAI_DEVICE_CUDA_MANAGED;
}

// What the header and Arrow's text say of a column; CAI_OK if it is valid. Only the first error is
// reported, so this says whether each status is possible.
struct Verdict {
  bool argument, device, unsupported, value;
  bool may_be(cai_status status) const {
    switch (status) {
      case CAI_OK:
        return !argument && !device && !unsupported && !value;
      case CAI_ERR_ARGUMENT:
        return argument;
      case CAI_ERR_DEVICE:
        return device;
      case CAI_ERR_UNSUPPORTED:
        return unsupported;
      default:
        return status == CAI_ERR_VALUE && value;
    }
  }
};

bool is_masked(const ArrowArray &array) {
  return array.null_count != 0 && array.buffers[0];
}

Verdict judged(const Source &source) {
  const ArrowArray &array = source.column.array;
  const ArrowSchema &schema = source.schema;
  Verdict verdict{};
  verdict.argument = !schema.release || !array.release || !schema.format;
  verdict.device =
      source.column.device_type != CAI_DEVICE_CPU && !is_gpu(source.column.device_type);
  const Format *const format = known(source.format);
  verdict.unsupported =
      !format || schema.n_children || array.n_children || schema.dictionary || array.dictionary;
  verdict.value = array.n_buffers != 2 || !array.buffers || array.length < 0 || array.offset < 0 ||
                  array.null_count < -1 || array.null_count > array.length ||
                  source.column.device_id < -1 || source.column.device_id > INT32_MAX;
  if (source.column.sync_event)
    verdict.value |= !source.event || source.column.device_type == CAI_DEVICE_CPU;
  if (!format || !array.buffers || verdict.value) return verdict;
  using fuzz::wide;
  const wide data = reinterpret_cast<std::uintptr_t>(array.buffers[1]),
             bits = reinterpret_cast<std::uintptr_t>(array.buffers[0]);
  const wide skipped = wide{array.offset} * format->itemsize;
  const wide bytes = wide{array.length} * format->itemsize;
  verdict.value |= bytes >= fuzz::bits_63;
  verdict.value |= array.null_count > 0 && !array.buffers[0];
  if (array.length)
    verdict.value |=
        !array.buffers[1] || skipped >= fuzz::bits_63 || data + skipped + bytes > fuzz::bits_64;
  if (is_masked(array)) {
    verdict.unsupported |= array.offset % 8 != 0;
    if (array.length)
      verdict.value |= bits + array.offset / 8 + (wide{array.length} + 7) / 8 > fuzz::bits_64;
  }
  return verdict;
}

void require_facts(const cai_array &array, const Source &source, const ArrowDeviceArray &before) {
  const ArrowArray &from = before.array;
  const Format &format = *known(source.format);
  MUST(cai_array_validate(&array, nullptr));
  MUST_HOLD(array.dtype.kind == format.kind && array.dtype.itemsize == format.itemsize);
  MUST_HOLD(array.ndim == 1 && array.shape[0] == from.length);
  MUST_HOLD(array.strides[0] == format.itemsize || from.length == 0);
  MUST_HOLD(array.flags & CAI_FLAG_READONLY);
  MUST_HOLD(array.device_type == before.device_type);
  MUST_HOLD(array.device_id == (before.device_type == CAI_DEVICE_CPU ? 0 : before.device_id));
  MUST_HOLD(array.stream_kind == (before.sync_event ? CAI_STREAM_EVENT : CAI_STREAM_NONE));
  MUST_HOLD(array.stream ==
            (before.sync_event ? reinterpret_cast<std::uintptr_t>(source.event) : 0));
  const auto at = [&](int buffer, std::int64_t skipped) {
    return from.length == 0 ? 0
                            : reinterpret_cast<std::uintptr_t>(from.buffers[buffer]) +
                                  static_cast<std::uint64_t>(skipped);
  };
  MUST_HOLD(array.data == at(1, from.length ? from.offset * format.itemsize : 0));
  MUST_HOLD(!array.mask == !is_masked(from));
  if (!array.mask) return;
  MUST_HOLD(array.mask->dtype.kind == 't' && array.mask->shape[0] == from.length);
  MUST_HOLD(array.mask->data == at(0, from.offset / 8));
}

// Says an array as a column, and reads that again: the same array.
void require_round_trip(const cai_array &array) {
  ArrowSchema schema;
  ArrowDeviceArray column;
  cai_error error;
  MUST(cai_arrow_write(&array, 1, &schema, &column, &error));
  MUST_HOLD(column.array.offset == 0 && column.array.n_buffers == 2);
  MUST_HOLD(column.array.null_count == (column.array.buffers[0] ? -1 : 0));
  cai_array *again = nullptr;
  MUST(cai_arrow_own(&schema, &column, &again, &error));
  schema.release(&schema);
  cai_array wanted = array, wanted_mask;
  wanted.flags |= CAI_FLAG_READONLY;
  if (array.mask) {
    wanted_mask = *array.mask;
    wanted_mask.flags |= CAI_FLAG_READONLY;
    wanted.mask = &wanted_mask;
    if (array.data == 0) wanted.mask = nullptr, wanted.flags &= ~std::uint32_t{CAI_FLAG_MASKED};
  }
  MUST_HOLD(fuzz::same_array(wanted, *again, false));
  cai_array_release(again);
}

void import(fuzz::Input &input) {
  Source source;
  fill(input, source);
  const ArrowDeviceArray before = source.column;
  const Verdict verdict = judged(source);
  cai_array *made = nullptr;
  cai_error error;
  const cai_status status = cai_arrow_own(&source.schema, &source.column, &made, &error);
  if (!verdict.may_be(status))
    std::fprintf(stderr, "%d: %s\n", status, status ? error.message : "");
  MUST_HOLD(verdict.may_be(status));
  MUST_HOLD(source.columns_released == 0 && source.schemas_released == 0);
  if (status) {
    fuzz::require_error(status, error);
    MUST_HOLD(!made && !std::memcmp(&before, &source.column, sizeof before));
    return;
  }
  MUST_HOLD(!source.column.array.release);
  require_facts(*made, source, before);
  // Only if that asks nothing of the driver, which does not exist here.
  if (made->stream_kind == CAI_STREAM_NONE && made->device_type != CAI_DEVICE_CUDA_HOST &&
      (made->device_type == CAI_DEVICE_CPU || made->device_id >= 0))
    require_round_trip(*made);
  cai_array_release(made);
  MUST_HOLD(source.columns_released == 1);
}

void fill(fuzz::Input &input, cai_array &array, std::int64_t *dims, bool is_mask) {
  static const char *const types[] = {"<f4", "|i1", "<u8", "<f2", "|b1",  ">i4",
                                      "<c8", "|V4", "|t1", "<U1", "<f16", "<i8"};
  const char *const type = is_mask && input.below(4) != 1 ? "|t1" : types[input.below(12)];
  MUST(cai_dtype_parse(type, std::strlen(type), &array.dtype, nullptr));
  array.abi_major = CAI_ABI_MAJOR;
  array.flags = array.dtype.byteorder == '>' ? CAI_FLAG_SWAPPED : 0;
  array.data = 0x7f5500000400;
  array.device_type = CAI_DEVICE_CPU;
  array.ndim = input.below(8) == 1 ? static_cast<std::int32_t>(input.below(3)) : 1;
  array.shape = dims;
  array.strides = dims + 2;
  for (int k = 0; k < 2; ++k) {
    dims[k] = input.below(8);
    dims[k + 2] = input.below(4) == 1 ? input.number() : array.dtype.itemsize;
    if (k < array.ndim && dims[k] == 0) array.data = 0;
  }
  array.stream_kind = CAI_STREAM_NONE;
  array.version = CAI_INTERFACE_VERSION;
}

// An array of the CPU's, and whether a column can say it.
void write(fuzz::Input &input) {
  std::int64_t dims[2][4];
  cai_array array{}, mask{};
  fill(input, array, dims[0], false);
  if (input.below(4) == 1) {
    fill(input, mask, dims[1], true);
    array.mask = &mask;
    array.flags |= CAI_FLAG_MASKED;
  }
  cai_array *owned = nullptr;
  int released = 0;
  if (cai_array_own(&array, fuzz::count_release, &released, &owned, nullptr)) return;
  const bool is_number = array.dtype.byteorder != '>' && std::strchr("iuf", array.dtype.kind) &&
                         array.dtype.itemsize <= 8;
  const bool is_row = array.ndim == 1 && (dims[0][0] <= 1 || dims[0][2] == array.dtype.itemsize);
  const bool has_bits =
      !array.mask || (mask.dtype.kind == 't' && mask.ndim == 1 && dims[1][0] == dims[0][0]);
  ArrowDeviceArray column;
  cai_error error;
  const cai_status status = cai_arrow_write(owned, 1, nullptr, &column, &error);
  MUST_BE(status, is_number && is_row && has_bits ? CAI_OK : CAI_ERR_EXPORT);
  if (status) {
    fuzz::require_error(status, error);
  } else {
    column.array.release(&column.array);
    MUST_HOLD(!column.array.release);
    require_round_trip(*owned);
  }
  MUST_HOLD(released == 0);
  cai_array_release(owned);
  MUST_HOLD(released == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  input.below(3) == 1 ? write(input) : import(input);
  return 0;
}
