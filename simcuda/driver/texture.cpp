// SPDX-License-Identifier: BSD-3-Clause
#include "texture.h"

#include <algorithm>
#include <cstring>

#include "array.h"
#include "driver.h"

namespace simcuda {
namespace {

using kernel::Channel;
using kernel::Texels;

// Attributes of a device.
constexpr std::size_t texture_alignment = 512, pitch_alignment = 32, most_linear = 268435456,
                      most_width = 131072, most_height = 65000, most_pitch = 2097120;
constexpr std::size_t faces = 6;

void refuse_if(bool wrong) {
  if (wrong) throw Refused{CUDA_ERROR_INVALID_VALUE};
}

Channel channel_of(int format) {
  channel_bytes(format);  // refuses what is none
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return Channel::u8;
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return Channel::u16;
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return Channel::u32;
    case CU_AD_FORMAT_SIGNED_INT8:
      return Channel::s8;
    case CU_AD_FORMAT_SIGNED_INT16:
      return Channel::s16;
    case CU_AD_FORMAT_SIGNED_INT32:
      return Channel::s32;
    case CU_AD_FORMAT_HALF:
      return Channel::f16;
    default:
      return Channel::f32;
  }
}

void set_format(Texels &texels, int format, unsigned channels) {
  refuse_if(channels != 1 && channels != 2 && channels != 4);
  texels.channel = channel_of(format);
  texels.channels = channels;
}

kernel::TexelLevel level_of(const Array &array) {
  const auto &d = array.descriptor;
  kernel::TexelLevel level;
  level.address = array.allocation->address + array.offset;
  level.width = static_cast<std::uint32_t>(d.Width);
  level.height = static_cast<std::uint32_t>(array.rows);
  if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
    level.depth = static_cast<std::uint32_t>(array.slices);
  level.pitch = array.pitch;
  level.slice = array.pitch * array.rows;
  return level;
}

void set_array(TextureObject &object, const CUDA_ARRAY3D_DESCRIPTOR &d,
               const AllocationPtr &allocation) {
  set_format(object.texels, d.Format, d.NumChannels);
  if (d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))
    object.texels.layers = static_cast<std::uint32_t>(d.Depth);
  object.array = allocation;
}

const CUDA_ARRAY3D_DESCRIPTOR &take_array(Driver &driver, TextureObject &object) {
  const auto array = driver.arrays.get(object.resource.res.hArray, CUDA_ERROR_INVALID_VALUE);
  set_array(object, array->descriptor, array->allocation);
  object.texels.levels = {level_of(*array)};
  return array->descriptor;
}

const CUDA_ARRAY3D_DESCRIPTOR &take_mipmapped(Driver &driver, TextureObject &object) {
  const auto array =
      driver.mipmapped_arrays.get(object.resource.res.hMipmappedArray, CUDA_ERROR_INVALID_VALUE);
  refuse_if(!(object.texture.flags & CU_TRSF_NORMALIZED_COORDINATES));
  set_array(object, array->descriptor, array->allocation);
  for (auto &level : array->levels) object.texels.levels.push_back(level_of(*level));
  return array->descriptor;
}

std::uint64_t device_address(const Driver &driver, CUdeviceptr address, std::size_t span) {
  const Place place = driver.memory.device_place(address, span);
  return place.allocation->device_address() +
         static_cast<std::size_t>(place.bytes - place.allocation->bytes);
}

void take_linear(const Driver &driver, TextureObject &object) {
  const auto &linear = object.resource.res.linear;
  Texels &texels = object.texels;
  set_format(texels, linear.format, linear.numChannels);
  const std::size_t width = linear.sizeInBytes / texels.bytes();
  refuse_if(linear.devPtr % texture_alignment != 0 || width == 0 || width > most_linear);
  texels.linear_memory = true;
  kernel::TexelLevel level;
  level.address = device_address(driver, linear.devPtr, linear.sizeInBytes);
  level.width = static_cast<std::uint32_t>(width);
  texels.levels = {level};
}

void take_pitched(const Driver &driver, TextureObject &object) {
  const auto &p = object.resource.res.pitch2D;
  Texels &texels = object.texels;
  set_format(texels, p.format, p.numChannels);
  refuse_if(p.devPtr % texture_alignment != 0 || p.width == 0 || p.height == 0 ||
            p.width > most_width || p.height > most_height ||
            p.pitchInBytes % pitch_alignment != 0 || p.pitchInBytes > most_pitch ||
            p.pitchInBytes < p.width * texels.bytes());
  kernel::TexelLevel level;
  level.address =
      device_address(driver, p.devPtr, (p.height - 1) * p.pitchInBytes + p.width * texels.bytes());
  level.width = static_cast<std::uint32_t>(p.width);
  level.height = static_cast<std::uint32_t>(p.height);
  level.pitch = p.pitchInBytes;
  texels.levels = {level};
}

// Formats of one, two and four channels follow each other.
void set_view_format(Texels &texels, int format) {
  static constexpr Channel channels[] = {Channel::u8,  Channel::s8,  Channel::u16, Channel::s16,
                                         Channel::u32, Channel::s32, Channel::f16, Channel::f32};
  refuse_if(format < CU_RES_VIEW_FORMAT_NONE || format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7);
  if (format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  if (format == CU_RES_VIEW_FORMAT_NONE) return;
  const unsigned before = texels.bytes();
  texels.channel = channels[(format - 1) / 3];
  texels.channels = 1u << (format - 1) % 3;
  refuse_if(texels.bytes() != before);
}

void take_view(TextureObject &object, const CUDA_ARRAY3D_DESCRIPTOR &d) {
  const CUDA_RESOURCE_VIEW_DESC &view = *object.view;
  Texels &texels = object.texels;
  set_view_format(texels, view.format);
  refuse_if(view.width != d.Width || view.height != d.Height || view.depth != d.Depth);
  refuse_if(view.firstMipmapLevel > view.lastMipmapLevel ||
            view.lastMipmapLevel >= texels.levels.size());
  texels.levels.erase(texels.levels.begin() + view.lastMipmapLevel + 1, texels.levels.end());
  texels.levels.erase(texels.levels.begin(), texels.levels.begin() + view.firstMipmapLevel);
  refuse_if(view.firstLayer > view.lastLayer ||
            view.lastLayer >= std::max<std::uint32_t>(texels.layers, 1));
  // Of a cube all faces are used: nobody names its layers.
  if (!(d.Flags & CUDA_ARRAY3D_LAYERED)) return refuse_if(view.lastLayer != 0);
  for (kernel::TexelLevel &level : texels.levels) level.address += level.slice * view.firstLayer;
  texels.layers = view.lastLayer - view.firstLayer + 1;
  refuse_if((d.Flags & CUDA_ARRAY3D_CUBEMAP) && texels.layers % faces != 0);
}

void set_sampling(TextureObject &object, unsigned array_flags) {
  const CUDA_TEXTURE_DESC &d = object.texture;
  Texels &texels = object.texels;
  const unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                         CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
  const bool seamless = d.flags & CU_TRSF_SEAMLESS_CUBEMAP;
  refuse_if((d.flags & ~known) || (seamless && !(array_flags & CUDA_ARRAY3D_CUBEMAP)));
  for (int mode : d.addressMode)
    refuse_if(mode < CU_TR_ADDRESS_MODE_WRAP || mode > CU_TR_ADDRESS_MODE_BORDER);
  for (int mode : {d.filterMode, d.mipmapFilterMode})
    refuse_if(mode != CU_TR_FILTER_MODE_POINT && mode != CU_TR_FILTER_MODE_LINEAR);
  texels.normalized = d.flags & CU_TRSF_NORMALIZED_COORDINATES;
  texels.promoted = !(d.flags & CU_TRSF_READ_AS_INTEGER) && !is_real(texels.channel) &&
                    bytes_of(texels.channel) < 4;
  texels.srgb = (d.flags & CU_TRSF_SRGB) && texels.channel == Channel::u8 && texels.promoted;
  if (texels.linear_memory) return;
  texels.filtered = d.filterMode == CU_TR_FILTER_MODE_LINEAR;
  refuse_if(texels.filtered && !texels.reads_real());
  if (texels.filtered && seamless) throw Refused{CUDA_ERROR_NOT_SUPPORTED};
  for (int i = 0; i < 3; ++i) {
    const int mode = d.addressMode[i];
    // The others are for normalized coordinates.
    const bool possible = texels.normalized || mode == CU_TR_ADDRESS_MODE_BORDER;
    texels.beyond[i] =
        static_cast<kernel::Beyond>(possible && !seamless ? mode : CU_TR_ADDRESS_MODE_CLAMP);
  }
  std::copy_n(d.borderColor, 4, texels.border);
  texels.between_levels = d.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR && texels.reads_real();
  texels.level_bias = d.mipmapLevelBias;
  texels.least_level = d.minMipmapLevelClamp;
  texels.most_level = d.maxMipmapLevelClamp;
}

}  // namespace

// One after the other: there may be many.
DestroyedTextures::Link::~Link() {
  while (next && next.use_count() == 1) next = std::move(next->next);
}

void DestroyedTextures::add(TextureObjectPtr object) {
  constexpr std::size_t most = 4096;
  if (handles_.size() == most) handles_.pop_front();
  handles_.push_back(object->handle);
  last_->object = std::move(object);
  last_->next = std::make_shared<Link>();
  last_ = last_->next;
}

bool DestroyedTextures::had(TextureHandle handle) const {
  return std::find(handles_.begin(), handles_.end(), handle) != handles_.end();
}

TextureObject texture_object(Driver &driver, const CUDA_RESOURCE_DESC &resource,
                             const CUDA_TEXTURE_DESC &texture,
                             const CUDA_RESOURCE_VIEW_DESC *view) {
  TextureObject object;
  object.resource = resource;
  object.texture = texture;
  if (view) object.view = *view;
  refuse_if(resource.flags != 0);
  const CUDA_ARRAY3D_DESCRIPTOR *array = nullptr;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      array = &take_array(driver, object);
      break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      array = &take_mipmapped(driver, object);
      break;
    case CU_RESOURCE_TYPE_LINEAR:
      take_linear(driver, object);
      break;
    case CU_RESOURCE_TYPE_PITCH2D:
      take_pitched(driver, object);
      break;
    default:
      throw Refused{CUDA_ERROR_INVALID_VALUE};
  }
  refuse_if(view && !array);
  if (view) take_view(object, *array);
  set_sampling(object, array ? array->Flags : 0);
  return object;
}

TextureObject surface_object(Driver &driver, const CUDA_RESOURCE_DESC &resource) {
  TextureObject object;
  object.resource = resource;
  object.texels.is_surface = true;
  refuse_if(resource.resType != CU_RESOURCE_TYPE_ARRAY || resource.flags != 0);
  refuse_if(!(take_array(driver, object).Flags & CUDA_ARRAY3D_SURFACE_LDST));
  return object;
}

void remove_textures_of(Driver &driver, const Context &context) {
  for (auto &object : driver.textures.all()) {
    if (object->context.get() != &context) continue;
    driver.destroyed_textures.add(object);
    driver.textures.remove(object->handle);
  }
}

}  // namespace simcuda
