// SPDX-License-Identifier: BSD-3-Clause
// What the handle of a texture or of a surface leads to: texels in memory, and how they are read.
#pragma once

#include <cstdint>
#include <vector>

namespace simcuda::kernel {

enum class Channel : std::uint8_t { u8, u16, u32, s8, s16, s32, f16, f32 };

constexpr unsigned bytes_of(Channel channel) {
  switch (channel) {
    case Channel::u8:
    case Channel::s8:
      return 1;
    case Channel::u16:
    case Channel::s16:
    case Channel::f16:
      return 2;
    default:
      return 4;
  }
}

constexpr bool is_real(Channel channel) {
  return channel == Channel::f16 || channel == Channel::f32;
}

// What lies beyond the edges. The numbers are the driver's.
enum class Beyond : std::uint8_t { wrap, clamp, mirror, border };

// A box of texels. Of a dimension that it does not have, the size is 1.
struct TexelLevel {
  std::uint64_t address = 0;  // of the first texel
  std::uint32_t width = 1, height = 1, depth = 1;
  std::uint64_t pitch = 0, slice = 0;  // bytes from row to row, and from slice or layer to the next
};

struct Texels {
  bool is_surface = false;
  Channel channel = Channel::u8;
  unsigned channels = 1;
  std::uint32_t layers = 0;  // 0: it has none
  std::vector<TexelLevel> levels;

  // Of a texture.
  bool linear_memory = false;  // one row, beyond which all is 0
  Beyond beyond[3] = {};
  float border[4] = {};
  bool filtered = false;    // linearly
  bool normalized = false;  // coordinates from 0 to 1
  bool promoted = false;    // integers are read as numbers from 0 or -1 to 1
  bool srgb = false;
  bool between_levels = false;  // these are filtered linearly, too
  float level_bias = 0, least_level = 0, most_level = 0;

  unsigned bytes() const { return bytes_of(channel) * channels; }
  // Whether what is read is a number of 32 bits with a fraction.
  bool reads_real() const { return promoted || is_real(channel); }
};

}  // namespace simcuda::kernel
