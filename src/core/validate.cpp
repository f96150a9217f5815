// SPDX-License-Identifier: BSD-3-Clause
// Validates a cai_array that another library filled in.
#include "core/validate.hpp"

#include <cstddef>
#include <cstring>

#include "core/error.hpp"
#include "core/fields.hpp"
#include "core/layout.hpp"
#include "core/text.hpp"
#include "core/typestr.hpp"

namespace cai {
namespace {

constexpr uint32_t kUnderstood = CAI_FLAG_READONLY | CAI_FLAG_MASKED | CAI_FLAG_SWAPPED;

cai_status validate(const cai_array &array, bool is_mask, cai_error *error) noexcept;

// In a newer minor version, reserved words may have a meaning that can be ignored.
bool is_newer(const cai_array &array) noexcept {
  return array.abi_minor > CAI_ABI_MINOR;
}

cai_status validate_prefix(const cai_array &array, cai_error *error) noexcept {
  if (const cai_status status = validate_version(array, error)) return status;
  if (!is_newer(array) && (array.reserved0 | array.reserved1 | array.reserved2 | array.reserved3)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_INTERFACE},
                "interface: a reserved word is not 0: %llu, %u, %llu, %llu",
                static_cast<unsigned long long>(array.reserved0), array.reserved1,
                static_cast<unsigned long long>(array.reserved2),
                static_cast<unsigned long long>(array.reserved3));
  }
  if (const cai_owner *owner = array.owner) {
    if (owner->struct_size < offsetof(cai_owner, used_on) || !owner->retain || !owner->release) {
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_INTERFACE},
                  "interface: the owner has struct_size %u or lacks retain or release",
                  owner->struct_size);
    }
  }
  return CAI_OK;
}

cai_status validate_device(const cai_array &array, cai_error *error) noexcept {
  switch (array.device_type) {
    case CAI_DEVICE_CPU:
    case CAI_DEVICE_CUDA:
    case CAI_DEVICE_CUDA_HOST:
    case CAI_DEVICE_ROCM:
    case CAI_DEVICE_CUDA_MANAGED:
      break;
    default:
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "data is on a device of unknown type %d",
                  array.device_type);
  }
  if (array.device_id < -1) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "data is on device %d", array.device_id);
  }
  return CAI_OK;
}

cai_status validate_data(const cai_array &array, const Extent &extent, cai_error *error) noexcept {
  const auto data = static_cast<unsigned long long>(array.data);
  if (extent.empty() != (array.data == 0)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA},
                "data is 0x%llx, though there are %s elements", data,
                extent.empty() ? "no" : "some");
  }
  if (extent_wraps(array.data, extent)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA},
                "data is 0x%llx: its extent of [%lld, %lld) bytes leaves the address space", data,
                static_cast<long long>(extent.lo), static_cast<long long>(extent.hi));
  }
  return CAI_OK;
}

cai_status validate_stream(const cai_array &array, cai_error *error) noexcept {
  const bool carries =
      array.stream_kind == CAI_STREAM_STREAM || array.stream_kind == CAI_STREAM_EVENT;
  if (!carries && array.stream_kind != CAI_STREAM_NONE &&
      array.stream_kind != CAI_STREAM_UNSTATED) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STREAM},
                "stream_kind is %u, which is no CAI_STREAM_*", array.stream_kind);
  }
  if (carries != (array.stream != 0)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STREAM},
                carries ? "stream is 0x%llx, though stream_kind is %u (STREAM or EVENT)"
                        : "stream is 0x%llx, though stream_kind is %u (NONE or UNSTATED)",
                static_cast<unsigned long long>(array.stream), array.stream_kind);
  }
  if (carries && array.device_type == CAI_DEVICE_CPU) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STREAM},
                "stream is 0x%llx, but the data is in host memory",
                static_cast<unsigned long long>(array.stream));
  }
  return CAI_OK;
}

[[gnu::noinline]] cai_status validate_descr(const cai_array &array, bool *swapped,
                                            cai_error *error) noexcept {
  if (!array.descr || array.descr_count == 0) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DESCR}, "descr is %s, though descr_count is %u",
                array.descr ? "set" : "NULL", array.descr_count);
  }
  const cai_dtype &dtype = array.dtype;
  if (dtype.kind == 't') {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DESCR}, "descr gives fields to a bit");
  }
  int32_t index = -1;
  bool field_swapped = false;
  if (const char *fault = fields_fault(array.descr, array.descr_count, dtype.itemsize,
                                       is_newer(array), &index, &field_swapped)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DESCR, index}, "descr %s (field %d, item size %u)",
                fault, index, dtype.itemsize);
  }
  *swapped = *swapped || field_swapped;
  return CAI_OK;
}

cai_status validate_dtype(const cai_array &array, cai_error *error) noexcept {
  const cai_dtype &dtype = array.dtype;
  if (const char *fault = dtype_fault(dtype, true)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR},
                "typestr %s: kind %s, byteorder %s, itemsize %u, ext %d", fault,
                Letter(dtype.kind).c_str(), Letter(dtype.byteorder).c_str(), dtype.itemsize,
                dtype.ext);
  }
  bool swapped = is_swapped(dtype);
  if (array.descr || array.descr_count) {
    if (const cai_status status = validate_descr(array, &swapped, error)) return status;
  }
  if (swapped != ((array.flags & CAI_FLAG_SWAPPED) != 0)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_TYPESTR},
                "typestr has byte order %s, which the flag SWAPPED (flags 0x%x) contradicts",
                Letter(dtype.byteorder).c_str(), array.flags);
  }
  return CAI_OK;
}

[[gnu::noinline]] cai_status validate_mask(const cai_array &array, cai_error *error) noexcept {
  if (!array.mask || !(array.flags & CAI_FLAG_MASKED)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_MASK}, "mask is %s, though the flags are 0x%x",
                array.mask ? "set" : "NULL", array.flags);
  }
  const cai_array &mask = *array.mask;
  cai_error inner;
  if (const cai_status status = validate(mask, true, &inner)) {
    return fail(error, status, {CAI_ENTRY_MASK, inner.index}, "mask: %s", inner.message);
  }
  if (mask.owner && mask.owner != array.owner) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                "mask has an owner that is not the array's");
  }
  if ((mask.device_type == CAI_DEVICE_CPU) != (array.device_type == CAI_DEVICE_CPU)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                "mask is on device type %d, the array on %d", mask.device_type, array.device_type);
  }
  if (!can_be_mask(mask.dtype.kind)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                "mask has kind %s, whose elements are neither true nor false",
                Letter(mask.dtype.kind).c_str());
  }
  if (!broadcasts(mask.shape, mask.ndim, array.shape, array.ndim)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_MASK},
                "mask has shape %s, which does not broadcast to %s",
                Printed(mask.shape, mask.ndim).c_str(), Printed(array.shape, array.ndim).c_str());
  }
  return CAI_OK;
}

cai_status validate(const cai_array &array, bool is_mask, cai_error *error) noexcept {
  if (const cai_status status = validate_prefix(array, error)) return status;
  if (const cai_status status = validate_device(array, error)) return status;
  Extent extent;
  if (const cai_status status = extent_of(array, &extent, error)) return status;
  if (const cai_status status = validate_dtype(array, error)) return status;
  if (const cai_status status = validate_data(array, extent, error)) return status;
  if (const cai_status status = validate_stream(array, error)) return status;
  if (is_mask && array.mask) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_MASK}, "a mask has no mask");
  }
  if (array.dtype.kind == 't' && !extent.empty() &&
      !is_c_contiguous(array.ndim, array.shape, array.strides, array.dtype.itemsize)) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STRIDES}, "strides %s: bits are always contiguous",
                Printed(array.strides, array.ndim).c_str());
  }
  const bool masked = (array.flags & CAI_FLAG_MASKED) != 0;
  return array.mask || masked ? validate_mask(array, error) : cai_status{CAI_OK};
}

}  // namespace

cai_status validate_version(const cai_array &array, cai_error *error) noexcept {
  if (array.abi_major != CAI_ABI_MAJOR) {
    return fail(error, CAI_ERR_VERSION, {CAI_ENTRY_INTERFACE},
                "interface: the array is of ABI major %d, not %d", array.abi_major, CAI_ABI_MAJOR);
  }
  if (const uint32_t unknown = cai_array_refuses(&array, kUnderstood)) {
    return fail(error, CAI_ERR_VERSION, {CAI_ENTRY_INTERFACE},
                "interface: critical flags 0x%x are not known here", unknown);
  }
  return CAI_OK;
}

}  // namespace cai

using namespace cai;

cai_status cai_array_validate(const cai_array *array, cai_error *error) {
  if (!array) return fail(error, CAI_ERR_ARGUMENT, {}, "array is NULL");
  return validate(*array, false, error);
}
