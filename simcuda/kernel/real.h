// SPDX-License-Identifier: BSD-3-Clause
// What PTX does with floating-point numbers apart from rounding.
#pragma once

#include <bit>
#include <cstdint>

namespace simcuda::kernel {

inline float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline std::uint32_t bits_of_float(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline double double_of(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}
inline std::uint64_t bits_of_double(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

// A subnormal number becomes zero and keeps its sign.
inline float flushed(float value) {
  const std::uint32_t bits = bits_of_float(value);
  return float_of((bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits);
}

// There is only one NaN of 32 bits.
inline float canonical(float value) {
  return float_of(value == value ? bits_of_float(value) : 0x7FFFFFFF);
}

// A NaN operand keeps all its bits but this one.
inline double quiet(double nan) {
  return double_of(bits_of_double(nan) | std::uint64_t{1} << 51);
}

// Clamps to [0, 1]; NaN becomes 0.
inline float saturated(float value) {
  const float above = value > 0 ? value : 0;
  return above < 1 ? above : 1;
}
inline double saturated(double value) {
  const double above = value > 0 ? value : 0;
  return above < 1 ? above : 1;
}

}  // namespace simcuda::kernel
