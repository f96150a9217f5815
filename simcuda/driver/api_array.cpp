// SPDX-License-Identifier: BSD-3-Clause
// CUDA arrays, with mipmaps and without; copies to and from them are in api_copy.cpp.

#include <algorithm>
#include <bit>

#include "array.h"
#include "call.h"
#include "capture.h"
#include "pool.h"

using namespace simcuda;

namespace {

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
  channel_bytes(d.Format);
  if (d.Flags & ~imitated) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
}

// Without memory.
std::shared_ptr<Array> lay_out(const CUDA_ARRAY3D_DESCRIPTOR &descriptor,
                               const std::shared_ptr<Context> &context) {
  auto array = std::make_shared<Array>();
  array->descriptor = descriptor;
  array->context = context;
  array->row = descriptor.Width * channel_bytes(descriptor.Format) * descriptor.NumChannels;
  constexpr std::size_t alignment = 16;  // of what a surface is read by at most
  array->pitch = (array->row + alignment - 1) / alignment * alignment;
  array->rows = std::max<std::size_t>(descriptor.Height, 1);
  array->slices = std::max<std::size_t>(descriptor.Depth, 1);
  return array;
}

std::size_t bytes_of(const Array &array) {
  return array.pitch * array.rows * array.slices;
}

AllocationPtr allocate(Session &s, const Context &context, std::size_t bytes) {
  make_room(s, s.driver.device(context.device), bytes);
  auto allocation = s.driver.memory.allocate_hidden(context.device, bytes, Memory::Track::written);
  charge(s.driver, *allocation);
  return allocation;
}

void create(Session &s, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR &descriptor) {
  required(out);
  refuse_unsafe(s);
  const auto context = owner_of(s.current());
  check(descriptor);
  auto array = lay_out(descriptor, context);
  array->allocation = allocate(s, *context, bytes_of(*array));
  *out = s.driver.arrays.add(array);
  array->allocation->array = address_of(*out);
}

CUDA_ARRAY3D_DESCRIPTOR level_of(CUDA_ARRAY3D_DESCRIPTOR descriptor, unsigned level) {
  const auto halve = [&](std::size_t &size) {
    if (size) size = std::max<std::size_t>(size >> level, 1);
  };
  halve(descriptor.Width);
  halve(descriptor.Height);
  if (!(descriptor.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))) halve(descriptor.Depth);
  return descriptor;
}

unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR &d) {
  const bool layers = d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
  return static_cast<unsigned>(std::bit_width(std::max({d.Width, d.Height, layers ? 0 : d.Depth})));
}

void end(Driver &driver, Allocation &allocation) {
  discharge(driver, allocation);
  driver.races.host_frees(allocation);
  driver.memory.free_hidden(allocation);
}

}  // namespace

namespace simcuda {

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
      throw Refused{is_other_format(format) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE};
  }
}

void remove_arrays_of(Driver &driver, const Context &context) {
  for (auto &array : driver.arrays.all()) {
    if (array->context.get() != &context) continue;
    if (!array->is_level) end(driver, *array->allocation);
    driver.arrays.end_with_context(array->handle);
  }
  for (auto &array : driver.mipmapped_arrays.all()) {
    if (array->context.get() != &context) continue;
    end(driver, *array->allocation);
    driver.mipmapped_arrays.end_with_context(array->handle);
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
    if (array->is_level) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    refuse_failed(*array->context);
    s.finish_device(array->context->device);
    if (array->allocation->dead) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    end(s.driver, *array->allocation);
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

SIM_API CUresult cuMipmappedArrayCreate(CUmipmappedArray *out,
                                        const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                                        unsigned levels) {
  return call(__func__, {out, descriptor, levels}, [&](Session &s) {
    const auto &d = required(descriptor);
    required(out);
    refuse_unsafe(s);
    const auto context = owner_of(s.current());
    check(d);
    auto array = std::make_shared<MipmappedArray>();
    array->descriptor = d;
    array->context = context;
    constexpr std::size_t alignment = 512;  // of each level
    std::size_t bytes = 0;
    levels = std::clamp(levels, 1u, most_levels(d));
    for (unsigned i = 0; i < levels; ++i) {
      auto level = lay_out(level_of(d, i), context);
      level->is_level = true;
      level->offset = bytes;
      bytes += (bytes_of(*level) + alignment - 1) / alignment * alignment;
      array->levels.push_back(std::move(level));
    }
    array->allocation = allocate(s, *context, bytes);
    for (auto &level : array->levels) level->allocation = array->allocation;
    *out = s.driver.mipmapped_arrays.add(array);
    array->allocation->array = address_of(*out);
  });
}

SIM_API CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned level) {
  return call(__func__, {out, handle, level}, [&](Session &s) {
    required(out);
    const auto array = s.driver.mipmapped_arrays.get(handle);
    if (level >= array->levels.size()) throw Refused{CUDA_ERROR_INVALID_VALUE};
    const auto &found = array->levels[level];
    *out = found->handle ? found->handle : s.driver.arrays.add(found);
  });
}

SIM_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  return call(__func__, {handle}, [&](Session &s) {
    refuse_unsafe(s);
    auto array = s.driver.mipmapped_arrays.get(handle);
    refuse_failed(*array->context);
    s.finish_device(array->context->device);
    if (array->allocation->dead) throw Refused{CUDA_ERROR_INVALID_HANDLE};
    end(s.driver, *array->allocation);
    for (auto &level : array->levels)
      if (level->handle) s.driver.arrays.remove(level->handle);
    s.driver.mipmapped_arrays.remove(handle);
  });
}
