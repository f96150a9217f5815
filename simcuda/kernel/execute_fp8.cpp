// SPDX-License-Identifier: BSD-3-Clause
// cvt to and from pairs of 8-bit numbers: e4m3, which has no infinity, and e5m2.
#include <algorithm>
#include <cmath>

#include "half.h"
#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

struct E4m3 {
  static constexpr int fraction = 3, bias = 7;
  static constexpr double largest = 448;
  static std::uint16_t to_half_bits(std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> fraction & 15),
               rest = static_cast<int>(bits & 7);
    if ((bits & 0x7F) == 0x7F) return 0x7FFF;
    const double magnitude = exponent ? std::ldexp(8 + rest, exponent - bias - fraction)
                                      : std::ldexp(rest, 1 - bias - fraction);
    return to_half(bits & 0x80 ? -magnitude : magnitude);
  }
};

// The upper half of an f16.
struct E5m2 {
  static constexpr int fraction = 2, bias = 15;
  static constexpr double largest = 57344;
  static std::uint16_t to_half_bits(std::uint32_t bits) {
    if ((bits & 0x7F) > 0x7C) return 0x7FFF;
    return static_cast<std::uint16_t>(bits << 8 & 0xFF00);
  }
};

// Rounds to nearest; values beyond the largest become the largest.
template <class Format>
std::uint32_t narrow(double value, bool relu) {
  if (value != value) return 0x7F;
  if (relu && std::signbit(value)) return 0;
  const double magnitude = std::min(std::fabs(value), Format::largest);
  // Below the least normal number, the last digit's place is fixed.
  const int least = 1 - Format::bias;
  const int exponent = magnitude < std::ldexp(1, least) ? least : std::ilogb(magnitude);
  const double units = std::nearbyint(std::ldexp(magnitude, Format::fraction - exponent));
  // A carry out of the fraction increments the exponent by itself.
  const int bits = (exponent - least) * (1 << Format::fraction) + static_cast<int>(units);
  return static_cast<std::uint32_t>(bits) | (std::signbit(value) ? 0x80 : 0);
}

template <class Format>
void from_singles(Warp &w, const Instruction &i, std::uint32_t mask) {
  const float *a = w.lanes<float>(i.a), *b = w.lanes<float>(i.b);
  put(w.lanes<std::uint16_t>(i.d), mask, [&](unsigned k) {
    return static_cast<std::uint16_t>(narrow<Format>(a[k], i.flag) << 8 |
                                      narrow<Format>(b[k], i.flag));
  });
}

template <class Format>
void from_halves(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t *a = w.lanes<std::uint32_t>(i.a);
  put(w.lanes<std::uint16_t>(i.d), mask, [&](unsigned k) {
    const double high = half_to_float(static_cast<std::uint16_t>(a[k] >> 16)),
                 low = half_to_float(static_cast<std::uint16_t>(a[k]));
    return static_cast<std::uint16_t>(narrow<Format>(high, i.flag) << 8 |
                                      narrow<Format>(low, i.flag));
  });
}

template <class Format>
void to_halves(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint16_t *a = w.lanes<std::uint16_t>(i.a);
  const auto widen = [&](std::uint32_t bits) -> std::uint32_t {
    const std::uint16_t made = Format::to_half_bits(bits & 0xFF);
    return i.flag && (made & 0x8000) ? 0 : made;
  };
  put(w.lanes<std::uint32_t>(i.d), mask,
      [&](unsigned k) { return widen(a[k] >> 8) << 16 | widen(a[k]); });
}

template <class Format>
void select_pair(Lowering &l, std::string_view name) {
  if (l.rounding() != Rounding::nearest) l.refuse("it wants .rn");
  const bool finite = l.take("satfinite");
  l.out.flag = l.take("relu");
  const bool narrows = l.next() == name;
  l.take(name);
  const Type other = l.type();
  if (narrows != finite)
    l.refuse(narrows ? "it wants .satfinite" : ".satfinite is for narrower ones");
  if (narrows && other == Type::f32) {
    l.bind(Type::b16, {Type::f32, Type::f32});
    l.out.run = from_singles<Format>;
  } else if (other == Type::f16x2) {
    l.bind(narrows ? Type::b16 : Type::b32, {narrows ? Type::b32 : Type::b16});
    l.out.run = narrows ? from_halves<Format> : to_halves<Format>;
  } else {
    l.refuse_type(other);
  }
}

}  // namespace

bool select_fp8(Lowering &l) {
  if (l.root != "cvt") return false;
  if (l.has("e4m3x2")) return select_pair<E4m3>(l, "e4m3x2"), true;
  if (l.has("e5m2x2")) return select_pair<E5m2>(l, "e5m2x2"), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
