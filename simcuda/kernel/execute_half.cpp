// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of f16 and bf16, one or two in a register. Sums and products are computed with so many
// bits that rounding them again makes no difference.
#include "half.h"
#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

using Half = std::uint16_t;

struct F16 {
  static double value(Half half) { return half_to_float(half); }
  static Half made(double value) { return to_half(value); }
  static constexpr Half exponent = 0x7C00;
};
struct Bf16 {
  static double value(Half half) { return bhalf_to_float(half); }
  static Half made(double value) { return to_bhalf(value); }
  static constexpr Half exponent = 0x7F80;
};
constexpr Half one = 0x3C00;  // of f16, which alone has .ftz and .sat
// Results from here on are rounded up to the least normal number at that number's precision.
constexpr double least = 0x1p-14 - 0x1p-26;

struct Add {
  static double of(double a, double b) { return a + b; }
};
struct Sub {
  static double of(double a, double b) { return a - b; }
};
struct Mul {
  static double of(double a, double b) { return a * b; }
};

template <class F>
bool is_nan(Half half) {
  return (half & 0x7FFF) > F::exponent;
}

enum : std::uint16_t {
  wants_ftz = 1,
  wants_sat = 2,
  wants_relu = 4,
  wants_nan = 8,
  wants_xor = 16
};

template <class F>
Half in(Half half, std::uint16_t wants) {
  return wants & wants_ftz ? flushed_half(half) : half;
}

template <class F>
Half done(double value, std::uint16_t wants) {
  if (wants & wants_ftz && std::fabs(value) < least) value = std::copysign(0.0, value);
  const Half half = F::made(value);
  if (wants & wants_sat) {
    if (is_nan<F>(half) || half & 0x8000) return 0;
    if (half > one) return one;
  }
  if (wants & wants_relu && half & 0x8000) return 0;  // a NaN has no sign
  return half;
}

template <class F, class Op>
struct Two {
  static Half of(Half a, Half b, Half, std::uint16_t wants) {
    const double value = Op::of(F::value(in<F>(a, wants)), F::value(in<F>(b, wants)));
    return done<F>(value, wants);
  }
};
template <class F>
struct Fma {
  static Half of(Half a, Half b, Half c, std::uint16_t wants) {
    const double value = fused_to_odd(F::value(in<F>(a, wants)), F::value(in<F>(b, wants)),
                                      F::value(in<F>(c, wants)));
    return done<F>(value, wants);
  }
};
template <class F, bool least>
struct Extreme {
  static Half of(Half a, Half b, Half, std::uint16_t wants) {
    a = in<F>(a, wants);
    b = in<F>(b, wants);
    const Half sign = wants & wants_xor ? (a ^ b) & 0x8000 : 0;
    if (wants & wants_xor) a &= 0x7FFF, b &= 0x7FFF;
    if (is_nan<F>(a) || is_nan<F>(b)) {
      if (wants & wants_nan || (is_nan<F>(a) && is_nan<F>(b))) return 0x7FFF;
      return (is_nan<F>(a) ? b : a) | sign;
    }
    // As integers that are ordered as the numbers are.
    const auto order = [](Half half) {
      return half & 0x8000 ? -static_cast<int>(half & 0x7FFF) - 1 : static_cast<int>(half);
    };
    return ((order(a) < order(b)) == least ? a : b) | sign;
  }
};
template <class F>
struct Neg {
  static Half of(Half a, Half, Half, std::uint16_t wants) {
    return is_nan<F>(a) ? 0x7FFF : in<F>(a, wants) ^ 0x8000;
  }
};
template <class F>
struct Abs {
  static Half of(Half a, Half, Half, std::uint16_t wants) {
    return is_nan<F>(a) ? 0x7FFF : in<F>(a, wants) & 0x7FFF;
  }
};

template <class Op>
void singles(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Half *a = w.lanes<Half>(i.a), *b = w.lanes<Half>(i.b), *c = w.lanes<Half>(i.c);
  put(w.lanes<Half>(i.d), mask,
      [=, wants = i.option](unsigned k) { return Op::of(a[k], b[k], c[k], wants); });
}

template <class Op>
void pairs(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t *a = w.lanes<std::uint32_t>(i.a), *b = w.lanes<std::uint32_t>(i.b),
                      *c = w.lanes<std::uint32_t>(i.c);
  put(w.lanes<std::uint32_t>(i.d), mask, [=, wants = i.option](unsigned k) {
    const auto half = [=](unsigned shift) {
      return static_cast<std::uint32_t>(Op::of(static_cast<Half>(a[k] >> shift),
                                               static_cast<Half>(b[k] >> shift),
                                               static_cast<Half>(c[k] >> shift), wants));
    };
    return half(0) | half(16) << 16;
  });
}

// `may`: the modifiers that there are.
template <template <class> class Op>
void select(Lowering &l, unsigned sources, std::uint16_t may) {
  std::uint16_t wants = 0;
  for (const auto &[name, want] : {std::pair{"ftz", wants_ftz},
                                   {"sat", wants_sat},
                                   {"relu", wants_relu},
                                   {"NaN", wants_nan},
                                   {"xorsign", wants_xor}})
    if (may & want && l.take(name)) wants |= want;
  if (wants & wants_xor && !l.take("abs")) l.refuse(".xorsign goes with .abs");
  l.out.option = wants;
  const Type type = l.type();
  if (wants & (wants_ftz | wants_sat) && type != Type::f16 && type != Type::f16x2)
    l.refuse(".ftz and .sat are only with .f16");
  if (sources == 1) l.bind(type, {type});
  if (sources == 2) l.bind(type, {type, type});
  if (sources == 3) l.bind(type, {type, type, type});
  // Operands that do not exist are read, too.
  if (sources < 2) l.out.b = l.out.a;
  if (sources < 3) l.out.c = l.out.a;
  switch (type) {
    case Type::f16:
      l.out.run = singles<Op<F16>>;
      return;
    case Type::bf16:
      l.out.run = singles<Op<Bf16>>;
      return;
    case Type::f16x2:
      l.out.run = pairs<Op<F16>>;
      return;
    case Type::bf16x2:
      l.out.run = pairs<Op<Bf16>>;
      return;
    default:
      l.refuse_type(type);
  }
}

template <class F>
using AddOf = Two<F, Add>;
template <class F>
using SubOf = Two<F, Sub>;
template <class F>
using MulOf = Two<F, Mul>;
template <class F>
using MinOf = Extreme<F, true>;
template <class F>
using MaxOf = Extreme<F, false>;

}  // namespace

bool select_half(Lowering &l) {
  if (!l.has("f16") && !l.has("f16x2") && !l.has("bf16") && !l.has("bf16x2")) return false;
  const std::string_view root = l.root;
  constexpr std::uint16_t sums = wants_ftz | wants_sat,
                          extremes = wants_ftz | wants_nan | wants_xor;
  if (root == "add" || root == "sub" || root == "mul") l.take("rn");
  if (root == "fma" && !l.take("rn")) l.refuse("it wants .rn");
  if (root == "add") return select<AddOf>(l, 2, sums), true;
  if (root == "sub") return select<SubOf>(l, 2, sums), true;
  if (root == "mul") return select<MulOf>(l, 2, sums), true;
  if (root == "fma") return select<Fma>(l, 3, sums | wants_relu), true;
  if (root == "min") return select<MinOf>(l, 2, extremes), true;
  if (root == "max") return select<MaxOf>(l, 2, extremes), true;
  if (root == "neg") return select<Neg>(l, 1, wants_ftz), true;
  if (root == "abs") return select<Abs>(l, 1, wants_ftz), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
