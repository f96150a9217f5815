// SPDX-License-Identifier: BSD-3-Clause
// Makes DLPack's tensors from arrays.
#include <algorithm>
#include <cstdlib>

#include "exchange/device.hpp"
#include "exchange/dlpack_type.hpp"
#include "order/publish.hpp"
#include "order/trace.hpp"
#include "order/waiting.hpp"
#include "order/without_driver.hpp"

namespace cai::exchange {
namespace {

// A tensor, and the owner of the array that it holds. The dimensions follow it.
template <class Tensor>
struct Block {
  Tensor tensor;  // first: the deleter is given a pointer to it
  cai_owner *owner;

  int64_t *dims() noexcept { return reinterpret_cast<int64_t *>(this + 1); }
};

template <class Tensor>
void delete_block(Tensor *tensor) {
  auto *const block = reinterpret_cast<Block<Tensor> *>(tensor);
  cai_owner *const owner = block->owner;
  std::free(block);
  owner->release(owner);
}

// The strides in elements. An axis with at most one element may have any stride.
cai_status write_strides(const cai_array &array, int64_t *out, cai_error *error) noexcept {
  const int64_t itemsize = array.dtype.itemsize;
  for (int32_t axis = 0; axis < array.ndim; ++axis) {
    if (array.strides[axis] % itemsize != 0 && array.shape[axis] > 1 && array.data != 0) {
      return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_STRIDES, axis},
                  "strides[%d] is %lld bytes, no multiple of the item size, %lld", axis,
                  static_cast<long long>(array.strides[axis]), static_cast<long long>(itemsize));
    }
    out[axis] = array.strides[axis] / itemsize;
  }
  return CAI_OK;
}

// Writes everything but the order. Calls no driver, unless it must ask for the device. Uses the
// array's shape.
cai_status write_tensor(const cai_array &array, int64_t *strides, DLTensor *out,
                        cai_error *error) noexcept {
  if (array.mask) {
    return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_MASK}, "mask: a tensor cannot have one");
  }
  if (const cai_status status = validate_device(array.device_type, error)) return status;
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): the device is set below
  DLTensor tensor{};
  if (const cai_status status = write_type(array.dtype, &tensor.dtype, error)) return status;
  if (const cai_status status = write_strides(array, strides, error)) return status;
  tensor.device.device_type = static_cast<DLDeviceType>(array.device_type);
  if (array.device_type == CAI_DEVICE_CUDA) {
    if (const cai_status status = find_device_id(array, &tensor.device.device_id, error)) {
      return status;
    }
  }
  uint64_t data = array.data;
  if (array.device_type == CAI_DEVICE_CUDA_HOST) {  // whose consumers may be on the host, too
    if (const cai_status status = cai_array_host(&array, &data, error)) return status;
  }
  tensor.data = reinterpret_cast<void *>(static_cast<uintptr_t>(data));
  tensor.ndim = array.ndim;
  tensor.shape = const_cast<int64_t *>(array.shape);
  tensor.strides = strides;
  *out = tensor;
  return CAI_OK;
}

cai_status validate(const cai_array &array, cai_error *error) noexcept {
  if (!is_own_array(array)) {
    if (const cai_status status = cai_array_validate(&array, error)) return status;
  }
  return validate_not_freed(array, error);
}

cai_status read_only_fault(cai_error *error) noexcept {
  return fail(error, CAI_ERR_EXPORT, {CAI_ENTRY_DATA},
              "data is read-only, which a tensor of this form cannot express");
}

// Makes the consumer's stream wait for pending work, and later uses of the array wait for that
// stream. The host waits for the host's own work, whatever the stream. Returns what the tensor
// holds.
const cai_array *hand_over(const cai_array &array, uint64_t stream) {
  const order::trace::Call call("cai_dlpack_write", order::trace::stream(stream), array);
  order::await_host_work(array, true);
  if (stream != no_order && order::may_be_pending(array)) return order::lend(array, stream);
  cai_array_retain(&array);
  return &array;
}

template <class Tensor>
cai_status write(const cai_array *array, uint64_t stream, Tensor **out, cai_error *error,
                 const Tensor &head) noexcept {
  if (!array || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "array or out is NULL");
  if (const cai_status status = validate(*array, error)) return status;
  if (!array->owner) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "the array is borrowed: it cannot be held");
  }
  if (stream == 0 && array->device_type != CAI_DEVICE_CPU) {
    return fail(error, CAI_ERR_ARGUMENT, {}, "stream is 0, which is never a stream");
  }
  const auto ndim = static_cast<uint64_t>(array->ndim);
  auto *const block = static_cast<Block<Tensor> *>(
      std::malloc(sizeof(Block<Tensor>) + uint64_t{2} * ndim * sizeof(int64_t)));
  if (!block) return fail(error, CAI_ERR_MEMORY, {}, "no host memory left for a tensor");
  block->tensor = head;
  DLTensor &tensor = block->tensor.dl_tensor;
  int64_t *const shape = block->dims();
  cai_status status = write_tensor(*array, shape + ndim, &tensor, error);
  const cai_array *held = nullptr;
  if (status == CAI_OK) status = guard(error, [&] { held = hand_over(*array, stream); });
  if (status) {
    std::free(block);
    return status;
  }
  std::copy_n(array->shape, ndim, shape);
  tensor.shape = shape;
  block->tensor.deleter = delete_block<Tensor>;
  block->owner = held->owner;
  *out = &block->tensor;
  return CAI_OK;
}

}  // namespace
}  // namespace cai::exchange

using namespace cai;

cai_status cai_dlpack_write(const cai_array *array, uint64_t stream, DLManagedTensorVersioned **out,
                            cai_error *error) {
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): write() sets the tensor
  DLManagedTensorVersioned head{};
  head.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  if (array && (array->flags & CAI_FLAG_READONLY)) head.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  return exchange::write(array, stream, out, error, head);
}

cai_status cai_dlpack_write_legacy(const cai_array *array, uint64_t stream, DLManagedTensor **out,
                                   cai_error *error) {
  if (array && array->abi_major == CAI_ABI_MAJOR && (array->flags & CAI_FLAG_READONLY)) {
    return exchange::read_only_fault(error);
  }
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): write() sets the tensor
  return exchange::write(array, stream, out, error, DLManagedTensor{});
}

cai_status cai_dlpack_lend(const cai_array *array, int64_t *strides, DLTensor *out,
                           cai_error *error) {
  if (!array || !out) return fail(error, CAI_ERR_ARGUMENT, {}, "array or out is NULL");
  if (const cai_status status = exchange::validate(*array, error)) return status;
  if (!strides && array->ndim != 0) return fail(error, CAI_ERR_ARGUMENT, {}, "strides is NULL");
  if (array->flags & CAI_FLAG_READONLY) return exchange::read_only_fault(error);
  return exchange::write_tensor(*array, strides, out, error);
}
