// SPDX-License-Identifier: BSD-3-Clause
#include "allocate.h"

#include <algorithm>

#include "instruction.h"

namespace simcuda::kernel {
namespace {

std::uint32_t lanes_size(Type type) {
  if (type == Type::pred) return 4;
  return std::max(16u, bits_of(type)) / 8 * lanes_of_warp;
}

}  // namespace

std::vector<std::uint32_t> allocate_registers(const Function &function,
                                              std::uint32_t &frame_bytes) {
  std::vector<std::uint32_t> places;
  std::uint32_t at = first_register;
  for (const Register &reg : function.registers) {
    const std::uint32_t size = lanes_size(reg.type);
    if (size > 4) at = (at + 63) / 64 * 64;
    places.push_back(at);
    at += size;
  }
  frame_bytes = (at + 63) / 64 * 64;
  return places;
}

std::uint32_t registers_wanted(const Function &function) {
  std::uint32_t bits = 0;
  for (const Register &reg : function.registers)
    if (reg.type != Type::pred) bits += std::max(32u, bits_of(reg.type));
  return std::clamp(bits / 32 / 4, 8u, 255u);
}

}  // namespace simcuda::kernel
