// SPDX-License-Identifier: BSD-3-Clause
#include "texel_access.h"

#include <algorithm>
#include <cstring>

#include "half.h"

namespace simcuda::kernel {
namespace {

template <class T>
T value_at(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

const Geometry &take_geometry(Lowering &l) {
  for (std::size_t i = 0; i < std::size(geometries); ++i)
    if (l.take(geometries[i].name)) {
      l.out.option = static_cast<std::uint16_t>(i);
      return geometries[i];
    }
  l.refuse("what its coordinates are of is missing, or not supported");
}

void bind_handle(Lowering &l, std::size_t i) {
  const Operand &address = l.operand(i);
  if (address.kind != Operand::Kind::address || address.parts.empty() || address.bits)
    l.refuse("a handle in brackets is expected");
  if (address.parts[0].kind != Operand::Kind::reg)
    l.refuse("a texture or a surface is named by the handle in a register");
  l.out.a = l.read(address.parts[0], Type::u64);
}

void bind_texels(Lowering &l, std::size_t i, const Geometry &geometry, Type coordinate,
                 std::vector<Place32> &list) {
  bind_handle(l, i);
  const std::vector<Operand> &parts = l.operand(i).parts;
  if (parts.size() > 2) l.refuse("a sampler of its own is not supported");
  if (parts.size() < 2) l.refuse("coordinates are missing");
  // What is behind those that are wanted fills up the vector, and is not looked at.
  const std::vector<Operand> alone{parts[1]};
  const std::vector<Operand> &given =
      parts[1].kind == Operand::Kind::vector ? parts[1].parts : alone;
  const std::size_t wanted = geometry.coordinates();
  if (given.size() < wanted || given.size() > std::bit_ceil(wanted))
    l.refuse("it takes " + std::to_string(wanted) + " coordinates, not " +
             std::to_string(given.size()));
  for (std::size_t n = 0; n < wanted; ++n)
    list.push_back(l.read(given[n], geometry.layered && n == 0 ? Type::u32 : coordinate));
  l.out.space = Space::global;
  l.out.cache = l.module().code.caches++;
}

void reach_texels(Request &request, Reach &found) {
  const std::uint64_t first = request.addresses[std::countr_zero(request.mask)];
  request.low = request.high = first;
  request.ored = first;
  for (unsigned k = 0; k < lanes_of_warp; ++k) {
    std::uint64_t &address = request.addresses[k];
    if (!(request.mask >> k & 1)) address = first;
    request.low = std::min(request.low, address);
    request.high = std::max(request.high, address);
    request.ored |= address;
  }
  request.warp.worker.memory.reach(request, found);
}

std::uint32_t data_type_of(const Texels &texels) {
  switch (texels.channel) {
    case Channel::s8:
      return texels.promoted ? 0x10D0 : 0x10D7;
    case Channel::s16:
      return texels.promoted ? 0x10D1 : 0x10D8;
    case Channel::u8:
      return texels.promoted ? 0x10D2 : 0x10DA;
    case Channel::u16:
      return texels.promoted ? 0x10D3 : 0x10DB;
    case Channel::s32:
      return 0x10D9;
    case Channel::u32:
      return 0x10DC;
    case Channel::f16:
      return 0x10DD;
    case Channel::f32:
      break;
  }
  return 0x10DE;
}

std::uint32_t order_of(const Texels &texels) {
  return texels.channels == 1 ? 0x10B0 : texels.channels == 2 ? 0x10B2 : 0x10B5;
}

std::uint32_t integer_at(Channel channel, const std::byte *at) {
  switch (channel) {
    case Channel::u8:
      return value_at<std::uint8_t>(at);
    case Channel::s8:
      return static_cast<std::uint32_t>(value_at<std::int8_t>(at));
    case Channel::u16:
      return value_at<std::uint16_t>(at);
    case Channel::s16:
      return static_cast<std::uint32_t>(value_at<std::int16_t>(at));
    default:
      return value_at<std::uint32_t>(at);
  }
}

double real_at(Channel channel, const std::byte *at) {
  switch (channel) {
    case Channel::u8:
      return value_at<std::uint8_t>(at) / 255.0;
    case Channel::s8:
      return std::max(value_at<std::int8_t>(at) / 127.0, -1.0);
    case Channel::u16:
      return value_at<std::uint16_t>(at) / 65535.0;
    case Channel::s16:
      return std::max(value_at<std::int16_t>(at) / 32767.0, -1.0);
    case Channel::f16:
      return half_to_float(value_at<std::uint16_t>(at));
    default:  // integers of 32 bits are never promoted
      return value_at<float>(at);
  }
}

}  // namespace simcuda::kernel
