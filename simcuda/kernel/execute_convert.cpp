// SPDX-License-Identifier: BSD-3-Clause
// cvt: every type to every other. The most common pairs have loops of their own. All others convert
// via 64 bits, which can hold each type.
#include <cfenv>
#include <cmath>
#include <limits>

#include "half.h"
#include "lanes.h"
#include "real.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

using Wide = std::uint64_t;
__extension__ typedef __int128 Int128;

// The registers may be wider than the types: `size` and `count` are their bytes.
enum Want : std::uint8_t { saturate = 1, flush = 2, relu = 4, finite = 8 };

struct How {
  Type to, from;
  Rounding rounding;  // of the result, or for an integer result
  std::uint8_t wants;
};

How how_of(const Instruction &i) {
  return {static_cast<Type>(i.option & 0xFF), static_cast<Type>(i.option >> 8),
          static_cast<Rounding>(i.option2 & 0xFF), static_cast<std::uint8_t>(i.option2 >> 8)};
}

template <class Lane, class T>
void widen(const Lane *from, Wide *to) {
  EACH_LANE to[k] = static_cast<Wide>(static_cast<T>(from[k]));
}

template <class Lane>
void load_integers(const Lane *from, Type type, Wide *to) {
  switch (type) {
    case Type::u8:
      return widen<Lane, std::uint8_t>(from, to);
    case Type::s8:
      return widen<Lane, std::int8_t>(from, to);
    case Type::u16:
      return widen<Lane, std::uint16_t>(from, to);
    case Type::s16:
      return widen<Lane, std::int16_t>(from, to);
    case Type::u32:
      return widen<Lane, std::uint32_t>(from, to);
    case Type::s32:
      return widen<Lane, std::int32_t>(from, to);
    default:
      return widen<Lane, std::uint64_t>(from, to);
  }
}

void load(Warp &w, Place32 place, unsigned size, Type type, Wide *to) {
  if (is_real(type)) {
    double *values = reinterpret_cast<double *>(to);
    if (type == Type::f64) {
      const double *from = w.lanes<double>(place);
      EACH_LANE values[k] = from[k];
    } else if (type == Type::f32) {
      const float *from = w.lanes<float>(place);
      EACH_LANE values[k] = from[k];
    } else {
      const std::uint16_t *from = w.lanes<std::uint16_t>(place);
      if (type == Type::f16) {
        EACH_LANE values[k] = half_to_float(from[k]);
      } else {
        EACH_LANE values[k] = bhalf_to_float(from[k]);
      }
    }
    return;
  }
  if (size == 2) return load_integers(w.lanes<std::uint16_t>(place), type, to);
  if (size == 4) return load_integers(w.lanes<std::uint32_t>(place), type, to);
  load_integers(w.lanes<std::uint64_t>(place), type, to);
}

// Writes a value of the type to a register that may be wider: signs are extended.
void store(Warp &w, Place32 place, unsigned size, Type type, std::uint32_t mask, Wide *from) {
  switch (type) {
    case Type::u8:
      EACH_LANE from[k] = static_cast<std::uint8_t>(from[k]);
      break;
    case Type::s8:
      EACH_LANE from[k] = static_cast<Wide>(static_cast<std::int8_t>(from[k]));
      break;
    case Type::u16:
      EACH_LANE from[k] = static_cast<std::uint16_t>(from[k]);
      break;
    case Type::s16:
      EACH_LANE from[k] = static_cast<Wide>(static_cast<std::int16_t>(from[k]));
      break;
    case Type::u32:
      EACH_LANE from[k] = static_cast<std::uint32_t>(from[k]);
      break;
    case Type::s32:
      EACH_LANE from[k] = static_cast<Wide>(static_cast<std::int32_t>(from[k]));
      break;
    default:
      break;
  }
  if (size == 2)
    put(w.lanes<std::uint16_t>(place), mask,
        [=](unsigned k) { return static_cast<std::uint16_t>(from[k]); });
  else if (size == 4)
    put(w.lanes<std::uint32_t>(place), mask,
        [=](unsigned k) { return static_cast<std::uint32_t>(from[k]); });
  else
    put(w.lanes<std::uint64_t>(place), mask, [=](unsigned k) { return from[k]; });
}

struct Limits {
  Int128 least, most;
};
Limits limits_of(Type type) {
  const unsigned bits = bits_of(type);
  if (is_signed(type))
    return {-(static_cast<Int128>(1) << (bits - 1)), (static_cast<Int128>(1) << (bits - 1)) - 1};
  return {0, (static_cast<Int128>(1) << bits) - 1};
}

Wide saturate_integer(Wide value, Type from, Type to) {
  const Int128 exact =
      is_signed(from) ? static_cast<Int128>(static_cast<std::int64_t>(value)) : Int128{value};
  const Limits limits = limits_of(to);
  return static_cast<Wide>(exact < limits.least  ? limits.least
                           : exact > limits.most ? limits.most
                                                 : exact);
}

double round_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return std::nearbyint(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::up:
      return std::ceil(value);
    default:
      return std::trunc(value);
  }
}

Wide to_integer(double value, Type from, Type to, Rounding rounding) {
  if (value != value) {
    if (from != Type::f64 && bits_of(to) < 64) return 0;
    return Wide{1} << (bits_of(to) - 1);
  }
  const double integral = round_integral(value, rounding);
  const Limits limits = limits_of(to);
  // Both limits, and values beyond them, are exact as doubles.
  if (integral <= static_cast<double>(limits.least)) return static_cast<Wide>(limits.least);
  if (integral >= static_cast<double>(limits.most)) return static_cast<Wide>(limits.most);
  return static_cast<Wide>(static_cast<Int128>(integral));
}

// An integer of 64 bits as a double, rounded to odd: enough for shorter formats.
double to_odd(Wide value, Type from) {
  const bool negative = is_signed(from) && static_cast<std::int64_t>(value) < 0;
  Wide magnitude = negative ? ~value + 1 : value;
  const int extra = 64 - std::countl_zero(magnitude) - 53;
  if (extra > 0) {
    const Wide rest = magnitude & ((Wide{1} << extra) - 1);
    magnitude = (magnitude ^ rest) | (rest ? Wide{1} << extra : 0);
  }
  const auto made = static_cast<double>(magnitude);
  return negative ? -made : made;
}

// Not inlined: it changes the rounding mode around it.
[[gnu::noinline]] float narrow(double value) {
  return static_cast<float>(value);
}
[[gnu::noinline]] double from_signed(std::int64_t value) {
  return static_cast<double>(value);
}
// Clang takes an integer for the sum of two parts, whose zero is negative when rounded down.
[[gnu::noinline]] double from_unsigned(Wide value) {
  return value ? static_cast<double>(value) : 0;
}

float round_to_float(double value, Rounding rounding) {
  if (mode_of(rounding) == FE_TONEAREST) return static_cast<float>(value);
  std::fesetround(mode_of(rounding));
  const float made = narrow(value);
  std::fesetround(FE_TONEAREST);
  return made;
}

double integer_to_double(Wide value, Type from, Rounding rounding) {
  std::fesetround(mode_of(rounding));
  const double made =
      is_signed(from) ? from_signed(static_cast<std::int64_t>(value)) : from_unsigned(value);
  std::fesetround(FE_TONEAREST);
  return made;
}

// With .ftz: zero if it is below the least normal number when it is rounded to 24 digits.
float round_and_flush(double value, Rounding rounding) {
  const float made = round_to_float(value, rounding);
  const bool small = std::fabs(round_to_float(value * 0x1p64, rounding)) < 0x1p-62f;
  return small ? std::copysign(0.0f, made) : made;
}

// Without the lower 13 bits of an f32.
std::uint32_t to_tf32(float value, Rounding rounding, bool away, bool wants_finite) {
  std::uint32_t bits = bits_of_float(value);
  // By .rna, NaN may become infinity.
  if (value != value) return (away ? bits : 0x7FFFFFFF) & ~0x1FFFu;
  if (wants_finite && (bits & 0x7FFFFFFF) > 0x7F7FE000) return (bits & 0x80000000) | 0x7F7FE000;
  if ((bits & 0x7F800000) == 0x7F800000) return bits;
  const std::uint32_t rest = bits & 0x1FFF;
  bits &= ~0x1FFFu;
  const bool odd = bits >> 13 & 1;
  const bool up = away
                      ? rest >= 0x1000
                      : rounding == Rounding::nearest && (rest > 0x1000 || (rest == 0x1000 && odd));
  return up ? bits + 0x2000 : bits;
}

// A real number, exact or rounded to odd, as the bits of a type.
Wide to_real(double value, const How &how) {
  if (how.wants & relu && (value < 0 || (value == 0 && std::signbit(value)))) value = 0;
  if (how.wants & saturate) value = saturated(value);
  switch (how.to) {
    case Type::f64:
      return bits_of_double(value);
    case Type::f32: {
      const bool wants_flush = how.wants & flush;
      return bits_of_float(canonical(wants_flush ? round_and_flush(value, how.rounding)
                                                 : round_to_float(value, how.rounding)));
    }
    case Type::f16: {
      std::uint16_t made = to_half(value, how.rounding);
      if (how.wants & finite && (made & 0x7FFF) == 0x7C00) made = (made & 0x8000) | 0x7BFF;
      return made;
    }
    default: {
      std::uint16_t made = to_bhalf(value, how.rounding);
      if (how.wants & finite && (made & 0x7FFF) == 0x7F80) made = (made & 0x8000) | 0x7F7F;
      return made;
    }
  }
}

Wide convert(Wide bits, const How &how, bool to_integral) {
  if (!is_real(how.from)) {
    if (!is_real(how.to)) return saturate_integer(bits, how.from, how.to);
    if (how.to == Type::f64) {
      const double made = integer_to_double(bits, how.from, how.rounding);
      return bits_of_double(how.wants & saturate ? saturated(made) : made);
    }
    return to_real(to_odd(bits, how.from), how);
  }
  double value = double_of(bits);
  if (how.wants & flush && how.from == Type::f32) value = flushed(static_cast<float>(value));
  if (!is_real(how.to)) return to_integer(value, how.from, how.to, how.rounding);
  if (to_integral) {
    value = round_integral(value, how.rounding);
    How exact = how;
    exact.rounding = Rounding::none;
    return to_real(value, exact);
  }
  return to_real(value, how);
}

void general(Warp &w, const Instruction &i, std::uint32_t mask) {
  const How how = how_of(i);
  alignas(64) Wide lanes[32];
  load(w, i.a, i.size, how.from, lanes);
  if (is_real(how.from) || is_real(how.to) || how.wants & saturate)
    each_active(mask, [&](unsigned k) { lanes[k] = convert(lanes[k], how, i.flag); });
  store(w, i.d, i.count, how.to, mask, lanes);
}

// The common formats.
template <class To, class From>
void direct(Warp &w, const Instruction &i, std::uint32_t mask) {
  const From *a = aligned(w.lanes<From>(i.a));
  put(w.lanes<To>(i.d), mask, [=](unsigned k) { return static_cast<To>(a[k]); });
}
template <bool ftz>
void f32_to_f64(Warp &w, const Instruction &i, std::uint32_t mask) {
  const float *a = aligned(w.lanes<float>(i.a));
  put(w.lanes<double>(i.d), mask,
      [=](unsigned k) { return static_cast<double>(ftz ? flushed(a[k]) : a[k]); });
}
template <bool ftz>
void f64_to_f32(Warp &w, const Instruction &i, std::uint32_t mask) {
  const double *a = aligned(w.lanes<double>(i.a));
  put(w.lanes<float>(i.d), mask, [=](unsigned k) {
    return canonical(ftz ? round_and_flush(a[k], Rounding::nearest) : static_cast<float>(a[k]));
  });
}
void f16_to_f32(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint16_t *a = aligned(w.lanes<std::uint16_t>(i.a));
  put(w.lanes<float>(i.d), mask, [=](unsigned k) { return canonical(half_to_float(a[k])); });
}

template <class From>
Execute direct_integer(Type to) {
  switch (to) {
    case Type::u16:
    case Type::s16:
      return direct<std::uint16_t, From>;
    case Type::u32:
    case Type::s32:
      return direct<std::uint32_t, From>;
    case Type::u64:
    case Type::s64:
      return direct<std::uint64_t, From>;
    case Type::f32:
      if constexpr (sizeof(From) <= 4) return direct<float, From>;
      return nullptr;
    case Type::f64:
      return direct<double, From>;
    default:
      return nullptr;
  }
}

Execute direct_of(const How &how, bool to_integral) {
  const bool nearest = how.rounding == Rounding::nearest || how.rounding == Rounding::none;
  if (to_integral || !nearest || (how.wants & ~flush)) return nullptr;
  switch (how.from) {
    case Type::u16:
      return direct_integer<std::uint16_t>(how.to);
    case Type::s16:
      return direct_integer<std::int16_t>(how.to);
    case Type::u32:
      return direct_integer<std::uint32_t>(how.to);
    case Type::s32:
      return direct_integer<std::int32_t>(how.to);
    case Type::u64:
      return direct_integer<std::uint64_t>(how.to);
    case Type::s64:
      return direct_integer<std::int64_t>(how.to);
    case Type::f32:
      if (how.to == Type::f64) return how.wants ? f32_to_f64<true> : f32_to_f64<false>;
      return nullptr;
    case Type::f64:
      if (how.to == Type::f32) return how.wants ? f64_to_f32<true> : f64_to_f32<false>;
      return nullptr;
    case Type::f16:
      if (how.to == Type::f32) return f16_to_f32;
      return nullptr;
    default:
      return nullptr;
  }
}

// Two numbers into one register, the first in the upper half.
void to_pair(Warp &w, const Instruction &i, std::uint32_t mask) {
  How how = how_of(i);
  const bool f16 = how.to == Type::f16x2;
  how.to = f16 ? Type::f16 : Type::bf16;
  const float *a = w.lanes<float>(i.a), *b = w.lanes<float>(i.b);
  std::uint32_t *d = w.lanes<std::uint32_t>(i.d);
  each_active(mask, [&](unsigned k) {
    const Wide high = to_real(a[k], how), low = to_real(b[k], how);
    d[k] = static_cast<std::uint32_t>(high << 16 | low);
  });
}

void tf32(Warp &w, const Instruction &i, std::uint32_t mask) {
  const How how = how_of(i);
  const float *a = w.lanes<float>(i.a);
  put(w.lanes<std::uint32_t>(i.d), mask, [&](unsigned k) {
    const float value = how.wants & relu && a[k] < 0 ? 0 : a[k];
    return to_tf32(value, how.rounding, i.flag, how.wants & finite);
  });
}

// Saturated to 16 or 8 bits, followed by the bits of the third operand.
template <class T>
void pack(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::int32_t *a = w.lanes<std::int32_t>(i.a), *b = w.lanes<std::int32_t>(i.b);
  const std::uint32_t *c = w.lanes<std::uint32_t>(i.c);
  const auto part = [](std::int32_t value) {
    constexpr std::int32_t least = std::numeric_limits<T>::min(),
                           most = std::numeric_limits<T>::max();
    return static_cast<std::uint32_t>(static_cast<Unsigned<T>>(value < least  ? least
                                                               : value > most ? most
                                                                              : value));
  };
  put(w.lanes<std::uint32_t>(i.d), mask, [=](unsigned k) {
    const std::uint32_t made = part(a[k]) << (8 * sizeof(T)) | part(b[k]);
    return sizeof(T) == 2 ? made : c[k] << 16 | made;
  });
}

void select_pack(Lowering &l) {
  if (!l.take("sat")) l.refuse("it wants .sat");
  const Type to = l.type(), from = l.type();
  if (from != Type::s32) l.refuse_type(from);
  if (bits_of(to) == 8 && l.type() != Type::b32) l.refuse("it wants .b32 at its end");
  if (bits_of(to) == 8)
    l.bind(Type::b32, {Type::s32, Type::s32, Type::b32});
  else
    l.bind(Type::b32, {Type::s32, Type::s32});
  switch (to) {
    case Type::u8:
      l.out.run = pack<std::uint8_t>;
      return;
    case Type::s8:
      l.out.run = pack<std::int8_t>;
      return;
    case Type::u16:
      l.out.run = pack<std::uint16_t>;
      return;
    case Type::s16:
      l.out.run = pack<std::int16_t>;
      return;
    default:
      l.refuse_type(to);
  }
}

bool holds_all(Type to, Type from) {
  if (is_signed(to) == is_signed(from)) return bits_of(to) >= bits_of(from);
  return is_signed(to) && bits_of(to) > bits_of(from);
}

void expect_exact_register(Lowering &l, std::size_t i, Type type) {
  const Operand &operand = l.operand(i);
  if (!is_integer(type) || operand.kind != Operand::Kind::reg) return;
  if (bits_of(l.register_type(operand)) != bits_of(type)) l.refuse_type(type);
}

bool is_simple(Type type) {
  return is_integer(type) || type == Type::f16 || type == Type::bf16 || type == Type::f32 ||
         type == Type::f64;
}

// From f32 to what is shorter there are .relu and .satfinite, and pairs and tf32 come from nothing
// else.
void check_limits(Lowering &l, const How &how, Rounding integral, bool away) {
  const bool to_tf32_type = how.to == Type::tf32, alone = is_simple(how.to);
  if (how.from != Type::f32 && !(alone && is_simple(how.from))) l.refuse_type(how.from);
  if (!alone && !to_tf32_type && how.to != Type::f16x2 && how.to != Type::bf16x2)
    l.refuse_type(how.to);
  if (away && !to_tf32_type) l.refuse(".rna is only with .tf32");
  const bool limits = how.wants & (relu | finite);
  if (alone && !limits) return;
  const bool shortens = how.from == Type::f32 && (!alone || is_half(how.to));
  const bool rounds = away ? !(how.wants & relu)
                           : integral == Rounding::none && (how.rounding == Rounding::nearest ||
                                                            how.rounding == Rounding::zero);
  if (!shortens || !rounds || how.wants & (saturate | flush))
    l.refuse("it wants .rn or .rz, and .relu and .satfinite want a shorter type than .f32");
}

void check_rounding(Lowering &l, const How &how, Rounding integral) {
  const bool to_real_type = is_real(how.to), from_real = is_real(how.from);
  const bool same = how.to == how.from, bf16 = how.to == Type::bf16 || how.from == Type::bf16;
  if (integral != Rounding::none) {
    if (!from_real || (to_real_type && !same)) l.refuse("nothing is rounded to an integer");
    return;
  }
  if (from_real && !to_real_type) l.refuse("it wants a rounding mode to an integer");
  const bool rounds = to_real_type && (!from_real || bits_of(how.to) < bits_of(how.from));
  if (rounds && how.rounding == Rounding::none) l.refuse("it wants a rounding mode");
  // It may be there for each that is of bf16.
  const bool may_round = rounds || (to_real_type && bf16 && !same);
  if (!may_round && how.rounding != Rounding::none) l.refuse("nothing is rounded");
}

void check_saturation(Lowering &l, const How &how) {
  if (how.wants & flush && how.to != Type::f32 && how.from != Type::f32)
    l.refuse(".ftz is only with .f32");
  if (!(how.wants & saturate)) return;
  if (how.to == Type::bf16 || how.from == Type::bf16) l.refuse(".sat is not with .bf16");
  if (is_integer(how.to) && is_integer(how.from) && holds_all(how.to, how.from))
    l.refuse("there is nothing for .sat to do");
}

void select_cvt(Lowering &l) {
  if (l.take("pack")) return select_pack(l);
  How how{};
  const Rounding integral = l.integer_rounding();
  how.rounding = integral == Rounding::none ? l.rounding() : integral;
  const bool away = l.take("rna");
  how.wants =
      static_cast<std::uint8_t>((l.take("sat") ? saturate : 0) | (l.take("ftz") ? flush : 0) |
                                (l.take("relu") ? relu : 0) | (l.take("satfinite") ? finite : 0));
  how.to = l.type();
  how.from = l.type();
  const auto pack_option = [&] {
    l.out.option = static_cast<std::uint16_t>(static_cast<unsigned>(how.to) |
                                              static_cast<unsigned>(how.from) << 8);
    l.out.option2 = static_cast<std::uint16_t>(static_cast<unsigned>(how.rounding) |
                                               static_cast<unsigned>(how.wants) << 8);
  };
  check_limits(l, how, integral, away);
  if (how.to == Type::f16x2 || how.to == Type::bf16x2) {
    l.bind(how.to, {Type::f32, Type::f32});
    pack_option();
    l.out.run = to_pair;
    return;
  }
  if (how.to == Type::tf32) {
    l.bind(Type::b32, {Type::f32});
    pack_option();
    l.out.flag = away;
    l.out.run = tf32;
    return;
  }
  check_rounding(l, how, integral);
  check_saturation(l, how);
  const bool to_real_type = is_real(how.to), from_real = is_real(how.from);
  l.expect_operands(2);
  // Other conversions take integers from wider registers, too.
  if (how.from == Type::bf16) expect_exact_register(l, 0, how.to);
  if (how.to == Type::bf16) expect_exact_register(l, 1, how.from);
  unsigned to_bits, from_bits;
  l.out.d = l.write_wide(l.operand(0), how.to, to_bits);
  l.out.a = l.read_wide(l.operand(1), how.from, from_bits);
  if (is_real(how.to) && to_bits != bits_of(how.to)) l.refuse_type(how.to);
  if (is_real(how.from) && from_bits != bits_of(how.from)) l.refuse_type(how.from);
  l.out.count = static_cast<std::uint8_t>(to_bits / 8);
  l.out.size = static_cast<std::uint8_t>(from_bits / 8);
  l.out.flag = to_real_type && from_real && integral != Rounding::none;
  pack_option();
  l.out.run = general;
  if (bits_of(how.to) == to_bits && bits_of(how.from) == from_bits)
    if (Execute run = direct_of(how, l.out.flag)) l.out.run = run;
}

}  // namespace

bool select_convert(Lowering &l) {
  if (l.root != "cvt") return false;
  return select_cvt(l), true;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
