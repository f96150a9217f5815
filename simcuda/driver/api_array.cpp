// SPDX-License-Identifier: BSD-3-Clause
// CUDA arrays; copies to and from them are in api_copy.cpp.

#include <algorithm>

#include "array.h"
#include "call.h"
#include "capture.h"
#include "pool.h"

using namespace simcuda;

namespace {

// The bytes of one channel; 0: a format that simcuda does not support.
std::size_t channel_bytes(int format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

// Packed, compressed and planar formats, and normalised ones.
bool is_other_format(int format) {
  constexpr int ranges[][2] = {{0x50, 0x50}, {0x91, 0xa9}, {0xb0, 0xb5}, {0xc0, 0xcb}};
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](auto &range) { return range[0] <= format && format <= range[1]; });
}

void check(const CUDA_ARRAY3D_DESCRIPTOR &d) {
  const unsigned imitated = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                            CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
  const bool layered = d.Flags & CUDA_ARRAY3D_LAYERED, cube = d.Flags & CUDA_ARRAY3D_CUBEMAP;
  if (!d.Width || (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  // A depth is the third dimension, or the number of layers.
  if ((d.Depth && !d.Height && !layered) || (layered && !d.Depth))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  const std::size_t faces = 6;
  if (cube && (d.Width != d.Height || (layered ? d.Depth % faces != 0 : d.Depth != faces)))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  const std::size_t most = 1 << 17;  // elements in each dimension
  if (std::max({d.Width, d.Height, d.Depth}) > most) throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!channel_bytes(d.Format) && !is_other_format(d.Format))
    throw Refused{CUDA_ERROR_INVALID_VALUE};
  if (!channel_bytes(d.Format) || (d.Flags & ~imitated)) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
}

void create(Session &s, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR &descriptor) {
  required(out);
  refuse_unsafe(s);
  auto context = owner_of(s.current());
  check(descriptor);
  auto array = std::make_shared<Array>();
  array->descriptor = descriptor;
  array->context = context;
  array->row = descriptor.Width * channel_bytes(descriptor.Format) * descriptor.NumChannels;
  array->rows = std::max<std::size_t>(descriptor.Height, 1);
  array->slices = std::max<std::size_t>(descriptor.Depth, 1);
  const std::size_t bytes = array->row * array->rows * array->slices;
  make_room(s, s.driver.device(context->device), bytes);
  array->allocation = s.driver.memory.allocate_hidden(context->device, bytes);
  charge(s.driver, *array->allocation);
  *out = s.driver.arrays.add(array);
}

void end(Driver &driver, Array &array) {
  discharge(driver, *array.allocation);
  driver.races.host_frees(*array.allocation);
  driver.memory.free_hidden(*array.allocation);
}

}  // namespace

namespace simcuda {

void remove_arrays_of(Driver &driver, const Context &context) {
  for (auto &array : driver.arrays.all()) {
    if (array->context.get() != &context) continue;
    end(driver, *array);
    driver.arrays.end_with_context(array->handle);
  }
}

}  // namespace simcuda

SIM_API CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *descriptor) {
  return call(__func__, {out, descriptor}, [&](Session &s) {
    const auto &d = required(descriptor);
    create(s, out, {d.Width, d.Height, 0, d.Format, d.NumChannels, 0});
  });
}

SIM_API CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
  return call(__func__, {out, descriptor},
              [&](Session &s) { create(s, out, required(descriptor)); });
}

SIM_API CUresult cuArrayDestroy(CUarray handle) {
  return call(__func__, {handle}, [&](Session &s) {
    refuse_unsafe(s);
    auto array = s.driver.arrays.get(handle);
    refuse_failed(*array->context);
    s.finish_device(array->context->device);
    if (array->allocation->dead) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    end(s.driver, *array);
    s.driver.arrays.remove(handle);
  });
}

SIM_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray handle) {
  return call(__func__, {out, handle}, [&](Session &s) {
    const auto &d = s.driver.arrays.get(handle)->descriptor;
    required(out) = {d.Width, d.Height, d.Format, d.NumChannels};
  });
}

SIM_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle) {
  return call(__func__, {out, handle},
              [&](Session &s) { required(out) = s.driver.arrays.get(handle)->descriptor; });
}
