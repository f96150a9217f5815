// SPDX-License-Identifier: BSD-3-Clause
// Tensors whose pointers are good, or NULL, and whose contents are anything. What is taken follows
// from DLPack's text; it is valid, and leaves as the same tensor; what is not is left alone.
#include <cai/dlpack.h>

#include "input.hpp"
#include "wide.hpp"

namespace {

using fuzz::wide;

struct Source {
  std::int64_t shape[CAI_MAX_NDIM], strides[CAI_MAX_NDIM];
  DLManagedTensorVersioned managed;
  int deleted;
};

void fill(fuzz::Input &input, Source &source) {
  static constexpr DLDataType known[] = {
      {kDLFloat, 32, 1},  {kDLBool, 8, 1},        {kDLInt, 64, 1},          {kDLComplex, 128, 1},
      {kDLBfloat, 16, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLFloat4_e2m1fn, 4, 1}, {kDLFloat, 16, 4}};
  static constexpr std::int32_t devices[] = {kDLCUDA, kDLCPU, kDLCUDAHost, kDLCUDAManaged};
  DLTensor &t = source.managed.dl_tensor;
  std::int32_t device = devices[input.below(4)];
  t.dtype = known[input.below(8)];
  t.ndim = static_cast<std::int32_t>(input.below(5));
  std::int64_t step = 1;
  for (int k = t.ndim - 1; k >= 0; --k) {
    source.shape[k] = input.below(2) ? 1 + input.below(4) : input.number();
    source.strides[k] = input.below(2) ? step : input.number();
    if (__builtin_mul_overflow(step, source.shape[k], &step)) step = 1;
  }
  t.data = reinterpret_cast<void *>(std::uintptr_t{0x7f5500000400});
  t.shape = source.shape;
  t.strides = input.below(4) == 1 ? nullptr : source.strides;
  source.managed.version = {1, 3};
  source.managed.manager_ctx = &source;
  source.managed.deleter = [](DLManagedTensorVersioned *self) {
    ++static_cast<Source *>(self->manager_ctx)->deleted;
  };
  source.managed.flags = input.byte();
  do {
    switch (input.below(10)) {
      case 1:
        t.data = reinterpret_cast<void *>(static_cast<std::uintptr_t>(input.number()));
        break;
      case 2:
        t.byte_offset = static_cast<std::uint64_t>(input.number());
        break;
      case 3:
        t.ndim = static_cast<std::int32_t>(input.number());
        break;
      case 4:
        t.shape = nullptr;
        break;
      case 5:
        t.dtype = {input.byte(), input.byte(), static_cast<std::uint16_t>(input.number())};
        break;
      case 6:
        device = static_cast<std::int32_t>(input.number());
        break;
      case 7:
        t.device.device_id = static_cast<std::int32_t>(input.number());
        break;
      case 8:
        source.managed.version.major = input.byte();
        break;
      default:
        break;
    }
  } while (input.below(3) == 1);
  std::memcpy(&t.device.device_type, &device, sizeof device);
}

bool is_type(const DLDataType &type) {
  const bool one = type.lanes == 1;
  switch (type.code) {
    case kDLInt:
    case kDLUInt:
      return one && (type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64);
    case kDLFloat:
      return one && (type.bits == 16 || type.bits == 32 || type.bits == 64);
    case kDLComplex:
      return one && (type.bits == 64 || type.bits == 128);
    case kDLBfloat:
      return one && type.bits == 16;
    case kDLBool:
      return one && type.bits == 8;
    default:
      return one && type.bits == 8 && type.code >= kDLFloat8_e3m4 && type.code <= kDLFloat8_e8m0fnu;
  }
}

// Whether dims and data say where all elements are; CAI_ERR_VALUE says that they do not.
bool is_placed(const DLTensor &t, std::int32_t device) {
  if (t.ndim < 0 || t.ndim > CAI_MAX_NDIM || (t.ndim > 0 && !t.shape)) return false;
  for (int k = 0; k < t.ndim; ++k)
    if (t.shape[k] < 0) return false;
  if (device == kDLCUDA && t.device.device_id < -1) return false;
  const wide itemsize = t.dtype.bits / 8;
  fuzz::Extent extent = fuzz::extent_of(t.ndim, t.shape, nullptr, itemsize);
  if (!extent.fits()) return false;
  if (extent.size == 0) return true;
  if (t.strides) {  // in elements
    extent.lo = 0, extent.hi = itemsize;
    for (int k = 0; k < t.ndim; ++k) {
      const wide reach = wide{t.shape[k] - 1} * t.strides[k];
      if (reach >= fuzz::bits_63 || -reach >= fuzz::bits_63) return false;
      (reach < 0 ? extent.lo : extent.hi) += reach * itemsize;
    }
    if (extent.hi - extent.lo >= fuzz::bits_63) return false;
  }
  const wide first = wide{reinterpret_cast<std::uintptr_t>(t.data)} + t.byte_offset;
  return t.data && first < fuzz::bits_64 &&
         extent.is_within_addresses(static_cast<std::uint64_t>(first));
}

void require_verdict(const DLTensor &t, std::uint64_t stream, cai_status status) {
  std::int32_t device;
  std::memcpy(&device, &t.device.device_type, sizeof device);
  const bool is_known =
      device == kDLCPU || device == kDLCUDA || device == kDLCUDAHost || device == kDLCUDAManaged;
  const bool typed = is_type(t.dtype);
  switch (status) {
    case CAI_OK:
      MUST_HOLD(is_known && typed && is_placed(t, device) && (stream || device == kDLCPU));
      break;
    case CAI_ERR_DEVICE:
      MUST_HOLD(!is_known);
      break;
    case CAI_ERR_UNSUPPORTED:
      MUST_HOLD(!typed);
      break;
    case CAI_ERR_ARGUMENT:
      MUST_HOLD(stream == 0 && device != kDLCPU);
      break;
    default:
      MUST_BE(status, CAI_ERR_VALUE);
      MUST_HOLD(!typed || !is_placed(t, device));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  fuzz::Input input(data, size);
  Source source{};
  fill(input, source);
  const std::uint64_t stream = input.below(2) ? input.byte() : UINT64_MAX;

  const DLTensor &tensor = source.managed.dl_tensor;
  std::int64_t strides[CAI_MAX_NDIM];
  cai_array borrowed;
  cai_array *owned = nullptr;
  cai_error error;
  const cai_status status = cai_dlpack_read(&tensor, stream, strides, &borrowed, &error);
  if (status) {
    fuzz::require_error(status, error);
  } else {
    MUST_HOLD(cai_array_validate(&borrowed, nullptr) == CAI_OK);
  }
  require_verdict(tensor, stream, status);
  const cai_status owning = cai_dlpack_own(&source.managed, stream, &owned, &error);
  if (owning) {
    fuzz::require_error(owning, error);
    MUST_HOLD(owning == (source.managed.version.major == 1 ? status : CAI_ERR_VERSION));
    MUST_HOLD(!owned && source.deleted == 0);
    return 0;
  }
  MUST_HOLD(status == CAI_OK);
  // No driver is asked for what is not said: order, and the device.
  if (owned->device_type != CAI_DEVICE_CUDA || owned->device_id >= 0) {
    DLManagedTensorVersioned *back = nullptr;
    MUST_HOLD(cai_dlpack_write(owned, UINT64_MAX, &back, nullptr) == CAI_OK);
    MUST_HOLD(back->dl_tensor.ndim == tensor.ndim);
    MUST_HOLD(!std::memcmp(&back->dl_tensor.dtype, &tensor.dtype, sizeof tensor.dtype));
    for (int k = 0; k < tensor.ndim; ++k) MUST_HOLD(back->dl_tensor.shape[k] == tensor.shape[k]);
    back->deleter(back);
  }
  MUST_HOLD(source.deleted == 0);
  cai_array_release(owned);
  MUST_HOLD(source.deleted == 1);
  return 0;
}
