// SPDX-License-Identifier: BSD-3-Clause
// Numbers of 16 bits: f16 (5 bits of exponent) and bf16 (8 bits).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "lowering.h"
#include "real.h"

namespace simcuda::kernel {

// Rounds to a format of `fraction` and `exponent` bits, from a number that is exact, or was rounded
// to odd with at least two more bits.
template <unsigned exponent, unsigned fraction>
inline std::uint16_t round_to(double value, Rounding rounding) {
  constexpr int bias = (1 << (exponent - 1)) - 1;
  constexpr std::uint16_t infinity = ((1u << exponent) - 1) << fraction;
  const std::uint64_t bits = bits_of_double(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  if (value != value) return 0x7FFF;
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  if (magnitude == 0) return sign;
  if (magnitude == 0x7FF0000000000000) return sign | infinity;
  const bool away = (rounding == Rounding::up && !sign) || (rounding == Rounding::down && sign);
  int e = static_cast<int>(magnitude >> 52) - 1023;
  if (e < -1022) return away ? sign | 1 : sign;  // far below the format's range
  std::uint64_t m = (magnitude & 0xFFFFFFFFFFFFF) | std::uint64_t{1} << 52;
  // Below the least normal number, the last digit's place is fixed.
  int drop = 52 - static_cast<int>(fraction);
  if (e < 1 - bias) drop += 1 - bias - e;
  if (drop > 62) return away ? sign | 1 : sign;
  const std::uint64_t kept = m >> drop, rest = m & ((std::uint64_t{1} << drop) - 1),
                      middle = std::uint64_t{1} << (drop - 1);
  std::uint64_t rounded = kept;
  if (rounding == Rounding::nearest || rounding == Rounding::none)
    rounded += rest > middle || (rest == middle && (kept & 1));
  else
    rounded += away && rest;
  // A carry out of the fraction increments the exponent by itself.
  const std::uint64_t biased = e < 1 - bias ? 0 : static_cast<std::uint64_t>(e + bias - 1);
  const std::uint64_t made = (biased << fraction) + rounded;
  if (made >= infinity) {
    const bool to_largest = rounding == Rounding::zero || (rounding == Rounding::up && sign) ||
                            (rounding == Rounding::down && !sign);
    return static_cast<std::uint16_t>(sign | (to_largest ? infinity - 1 : infinity));
  }
  return static_cast<std::uint16_t>(sign | made);
}

inline std::uint16_t to_half(double value, Rounding rounding = Rounding::nearest) {
  return round_to<5, 10>(value, rounding);
}
inline std::uint16_t to_bhalf(double value, Rounding rounding = Rounding::nearest) {
  return round_to<8, 7>(value, rounding);
}

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31,
                      fraction = half & 0x3FF;
  // Subnormal numbers as a multiple of 2^-24, which is exact.
  const std::uint32_t small = bits_of_float(static_cast<float>(fraction) * 0x1p-24f);
  const std::uint32_t normal = (exponent + 112) << 23 | fraction << 13;
  const std::uint32_t special = 0x7F800000 | fraction << 13;
  return float_of(sign | (exponent == 0 ? small : exponent == 31 ? special : normal));
}

inline float bhalf_to_float(std::uint16_t half) {
  return float_of(static_cast<std::uint32_t>(half) << 16);
}

// Of f16.
inline std::uint16_t flushed_half(std::uint16_t half) {
  return (half & 0x7C00) == 0 ? half & 0x8000 : half;
}

// The sum of an exact product and a number, rounded to odd: rounding it again later gives the same
// result as rounding once.
inline double fused_to_odd(double a, double b, double c) {
  const double product = a * b;  // exact: both have at most 11 bits
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  const std::uint64_t bits = bits_of_double(sum);
  if (error == 0 || (bits & 1)) return sum;
  // The neighbour on the error's side is odd.
  return double_of((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

}  // namespace simcuda::kernel
