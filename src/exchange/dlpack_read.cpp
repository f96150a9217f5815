// SPDX-License-Identifier: BSD-3-Clause
// Makes arrays, borrowed and owned, from DLPack's tensors.
#include <cstring>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/layout.hpp"
#include "core/text.hpp"
#include "exchange/device.hpp"
#include "exchange/dlpack_type.hpp"
#include "order/owned.hpp"

namespace cai::exchange {
namespace {

// A number from another library may be no value of the enum.
int32_t device_type_of(const DLTensor &tensor) noexcept {
  int32_t number;
  static_assert(sizeof number == sizeof tensor.device.device_type);
  std::memcpy(&number, &tensor.device.device_type, sizeof number);
  return number;
}

// Tensors of the host and of managed memory have device 0 by convention, which means nothing.
int32_t device_id_of(const DLTensor &tensor, int32_t device_type) noexcept {
  if (device_type == CAI_DEVICE_CPU) return 0;
  return device_type == CAI_DEVICE_CUDA ? tensor.device.device_id : -1;
}

[[gnu::cold, gnu::noinline]] cai_status dims_fault(const DLTensor &tensor,
                                                   cai_error *error) noexcept {
  if (tensor.ndim < 0 || tensor.ndim > CAI_MAX_NDIM) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE},
                "shape has %d dimensions; 0 to %d are allowed", tensor.ndim, CAI_MAX_NDIM);
  }
  if (!tensor.shape) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE},
                "shape is NULL, though there are %d dimensions", tensor.ndim);
  }
  return fail(error, CAI_ERR_ARGUMENT, {}, "strides is NULL");
}

bool has_no_elements(const DLTensor &tensor) noexcept {
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return true;
  }
  return false;
}

// The strides in bytes. Validation finds other errors in the dimensions.
cai_status read_dims(const DLTensor &tensor, uint32_t itemsize, int64_t *strides,
                     cai_error *error) noexcept {
  const int32_t ndim = tensor.ndim;
  if (ndim == 0) return CAI_OK;
  if (ndim < 0 || ndim > CAI_MAX_NDIM || !tensor.shape || !strides) {
    return dims_fault(tensor, error);
  }
  if (!tensor.strides) {
    int64_t units;
    if (fill_c_strides(ndim, tensor.shape, itemsize, strides, &units) == LayoutFault::none) {
      return CAI_OK;
    }
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_SHAPE},
                "shape %s is too large: the size in bytes does not fit in 63 bits",
                Printed(tensor.shape, ndim).c_str());
  }
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (multiply(tensor.strides[axis], itemsize, &strides[axis])) continue;
    if (tensor.shape[axis] > 1 && !has_no_elements(tensor)) {
      return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_STRIDES, axis},
                  "strides[%d] is %lld elements, whose bytes do not fit in 63 bits", axis,
                  static_cast<long long>(tensor.strides[axis]));
    }
    strides[axis] = 0;  // of an axis with at most one element
  }
  return CAI_OK;
}

cai_status read_data(const DLTensor &tensor, uint64_t *out, cai_error *error) noexcept {
  if (!tensor.data) {
    return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA}, "data is NULL, but there are elements");
  }
  const auto data = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(tensor.data));
  if (!__builtin_add_overflow(data, tensor.byte_offset, out)) return CAI_OK;
  return fail(error, CAI_ERR_VALUE, {CAI_ENTRY_DATA},
              "data is 0x%llx and byte_offset %llu, which is beyond the address space",
              static_cast<unsigned long long>(data),
              static_cast<unsigned long long>(tensor.byte_offset));
}

// Fills in the rest once the type, the data and the strides are known. It writes to the final
// place: a copy would wait for the many small stores.
void fill(const DLTensor &tensor, const cai_dtype &dtype, uint64_t data, const int64_t *strides,
          uint64_t stream, uint32_t flags, cai_array *out) noexcept {
  const int32_t device_type = device_type_of(tensor);
  const bool on_host = device_type == CAI_DEVICE_CPU;
  const bool is_said = !on_host && stream != no_order;
  *out = {
      .abi_major = CAI_ABI_MAJOR,
      .abi_minor = CAI_ABI_MINOR,
      .flags = flags | (tensor.strides ? 0 : uint32_t{CAI_FLAG_STRIDES_NONE}),
      .owner = nullptr,
      .data = data,
      .device_type = device_type,
      .device_id = device_id_of(tensor, device_type),
      .dtype = dtype,
      .ndim = tensor.ndim,
      .shape = tensor.shape,
      .strides = strides,
      .stream = is_said ? stream : 0,
      .stream_kind = on_host   ? uint32_t{CAI_STREAM_NONE}
                     : is_said ? uint32_t{CAI_STREAM_STREAM}
                               : uint32_t{CAI_STREAM_UNSTATED},
      .version = on_host || is_said ? uint32_t{CAI_INTERFACE_VERSION} : 2,
      .mask = nullptr,
      .descr = nullptr,
      .reserved0 = 0,
      .descr_count = 0,
      .reserved1 = 0,
      .reserved2 = 0,
      .reserved3 = 0,
  };
}

// Makes the array of a tensor, and validates it.
cai_status read_tensor(const DLTensor &tensor, uint64_t stream, uint32_t flags, int64_t *strides,
                       cai_array *out, cai_error *error) noexcept {
  const int32_t device_type = device_type_of(tensor);
  if (const cai_status status = validate_device(device_type, error)) return status;
  if (stream == 0 && device_type != CAI_DEVICE_CPU) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "stream is 0, which is never a stream");
  }
  cai_dtype dtype;
  if (const cai_status status = read_type(tensor.dtype, &dtype, error)) return status;
  if (const cai_status status = read_dims(tensor, dtype.itemsize, strides, error)) return status;
  uint64_t data = 0;
  if (!has_no_elements(tensor)) {
    if (const cai_status status = read_data(tensor, &data, error)) return status;
  }
  Extent extent;
  const bool is_sound = device_id_of(tensor, device_type) >= -1 &&
                        compute_extent(tensor.ndim, tensor.shape, strides, dtype.itemsize,
                                       &extent) == LayoutFault::none &&
                        !extent_wraps(data, extent);
  if (!is_sound) {  // validation reports what is wrong
    cai_array array;
    fill(tensor, dtype, data, strides, stream, flags, &array);
    if (const cai_status status = cai_array_validate(&array, error)) return status;
  }
  fill(tensor, dtype, data, strides, stream, flags, out);
  return CAI_OK;
}

template <class Tensor>
void delete_tensor(void *context) {
  auto *const tensor = static_cast<Tensor *>(context);
  if (tensor->deleter) tensor->deleter(tensor);
}

template <class Tensor>
cai_status own(Tensor *tensor, uint64_t stream, uint32_t flags, cai_array **out,
               cai_error *error) noexcept {
  int64_t strides[CAI_MAX_NDIM];
  cai_array array;
  if (const cai_status status =
          read_tensor(tensor->dl_tensor, stream, flags, strides, &array, error)) {
    return status;
  }
  if (const cai_status status = own_valid(array, delete_tensor<Tensor>, tensor, out, error)) {
    return status;
  }
  cai_owner &owner = *(*out)->owner;
  mark_import(owner);
  if (array.stream_kind == CAI_STREAM_STREAM) owner.flags |= CAI_OWNER_ASKED;
  return CAI_OK;
}

}  // namespace
}  // namespace cai::exchange

using namespace cai;
using namespace cai::exchange;

cai_status cai_dlpack_read(const DLTensor *tensor, uint64_t stream, int64_t *strides,
                           cai_array *out, cai_error *error) {
  if (!tensor || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "tensor or out is NULL");
  return read_tensor(*tensor, stream, CAI_FLAG_READONLY, strides, out, error);
}

cai_status cai_dlpack_own(DLManagedTensorVersioned *tensor, uint64_t stream, cai_array **out,
                          cai_error *error) {
  if (!tensor || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "tensor or out is NULL");
  if (tensor->version.major != DLPACK_MAJOR_VERSION) {
    return fail(error, CAI_ERR_VERSION, {CAI_ENTRY_VERSION},
                "version: the tensor is of DLPack %u.%u, whose layout is not that of %d",
                tensor->version.major, tensor->version.minor, DLPACK_MAJOR_VERSION);
  }
  const bool readonly = tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  return own(tensor, stream, readonly ? uint32_t{CAI_FLAG_READONLY} : 0, out, error);
}

cai_status cai_dlpack_own_legacy(DLManagedTensor *tensor, uint64_t stream, cai_array **out,
                                 cai_error *error) {
  if (!tensor || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "tensor or out is NULL");
  return own(tensor, stream, 0, out, error);
}
