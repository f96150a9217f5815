// SPDX-License-Identifier: BSD-3-Clause
// What instructions of textures and of surfaces share: their operands, and texels as memory.
#pragma once

#include <bit>

#include "control.h"

namespace simcuda::kernel {

// What the coordinates are of.
struct Geometry {
  std::string_view name;
  unsigned dimensions;
  bool layered, cube;
  unsigned coordinates() const { return dimensions + layered; }
};
inline constexpr Geometry geometries[] = {
    {"1d", 1, false, false},  {"2d", 2, false, false}, {"3d", 3, false, false},
    {"a1d", 1, true, false},  {"a2d", 2, true, false}, {"cube", 3, false, true},
    {"acube", 3, true, true},
};
inline constexpr unsigned faces_of_cube = 6;

// By its place among them, which comes into Instruction::option.
const Geometry &take_geometry(Lowering &l);
// [handle, coordinates] into a and into the list; its memory is of this instruction.
void bind_texels(Lowering &l, std::size_t i, const Geometry &geometry, Type coordinate,
                 std::vector<Place32> &list);
// [handle] alone.
void bind_handle(Lowering &l, std::size_t i);

template <class F>
void each_active(std::uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

inline const Place32 *list_of(const Warp &w, const Instruction &i) {
  return w.frame->body->lists.data() + i.list;
}

// f(texels, lanes) for the lanes of each handle. Throws Failed.
template <class F>
void each_handle(Warp &w, Place32 handle, std::uint32_t mask, F f) {
  const std::uint64_t *handles = w.lanes<std::uint64_t>(handle);
  while (mask) {
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    std::uint32_t same = 0;
    each_active(mask,
                [&](unsigned k) { same |= std::uint32_t{handles[k] == handles[first]} << k; });
    mask &= ~same;
    f(w.worker.texels(handles[first], first), same);
  }
}

// The same for textures, or for surfaces, alone.
template <class F>
void each_handle(Warp &w, Place32 handle, std::uint32_t mask, bool surfaces, F f) {
  each_handle(w, handle, mask, [&](const Texels &texels, std::uint32_t lanes) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (texels.is_surface != surfaces)
      throw Failed{
          FaultKind::invalid_handle,
          lane,
          w.lanes<std::uint64_t>(handle)[lane],
          0,
          false,
          Space::generic,
          surfaces ? "It is a texture's, not a surface's." : "It is a surface's, not a texture's."};
    f(texels, lanes);
  });
}

// The lanes' bytes, at the addresses of the request: as loads and stores use them.
void reach_texels(Request &request, Reach &found);

// How txq and suq name a format: OpenCL's numbers.
std::uint32_t data_type_of(const Texels &texels);
std::uint32_t order_of(const Texels &texels);

// A channel of a texel as it lies in memory: an integer of 32 bits, or a number.
std::uint32_t integer_at(Channel channel, const std::byte *at);
double real_at(Channel channel, const std::byte *at);

}  // namespace simcuda::kernel
