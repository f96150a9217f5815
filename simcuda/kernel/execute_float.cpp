// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of f32 and f64, rounded exactly.
#include <cfenv>
#include <cmath>

#include "lanes.h"
#include "real.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

// With .ftz a result becomes zero if it is below the least normal number when rounded to 24 digits.
// Subnormal numbers have fewer digits, so a result rounded as one may have reached that number. For
// operations that can be inexact there, `scaled` is the result times 2^64.
constexpr float least_normal = 0x1p-126f, scale = 0x1p64f;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
  static float scaled(float a, float b) { return a * scale * b; }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
  static float scaled(float a, float b) { return a * scale / b; }
};
// If the divisor's reciprocal would be subnormal, hardware uses 0.
struct DivApprox {
  float operator()(float a, float b) const {
    const float large = std::fabs(b);
    if (large > 0x1p126f && large < INFINITY) return std::isinf(a) ? a - a : a * 0.0f * b;
    return a / b;
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
  static float scaled(float a, float b, float c) { return std::fma(a * scale, b, c * scale); }
};
struct Rcp {
  template <class T>
  T operator()(T a) const {
    return 1 / a;
  }
  static float scaled(float a) { return scale / a; }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Same {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};
// A NaN of 64 bits keeps its bits, but becomes quiet.
struct Abs {
  float operator()(float a) const { return float_of(bits_of_float(a) & 0x7FFFFFFF); }
  double operator()(double a) const {
    return a == a ? double_of(bits_of_double(a) & ~(1ull << 63)) : quiet(a);
  }
};
struct Neg {
  float operator()(float a) const { return float_of(bits_of_float(a) ^ 0x80000000); }
  double operator()(double a) const {
    return a == a ? double_of(bits_of_double(a) ^ 1ull << 63) : quiet(a);
  }
};
// NaN is ignored, and -0 is less than 0.
template <bool least>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    const bool first =
        least ? a < b || (a == b && std::signbit(a)) : a > b || (a == b && std::signbit(b));
    return b != b || first ? a : b;
  }
};
template <bool least>
struct ExtremeOrNaN {
  float operator()(float a, float b) const {
    return a != a ? a : b != b ? b : Extreme<least>{}(a, b);
  }
};
template <bool least, bool nan>
struct ExtremeXorSign {
  float operator()(float a, float b) const {
    const std::uint32_t sign = (bits_of_float(a) ^ bits_of_float(b)) & 0x80000000;
    const float x = Abs{}(a), y = Abs{}(b);
    const float value = nan ? ExtremeOrNaN<least>{}(x, y) : Extreme<least>{}(x, y);
    return float_of(bits_of_float(value) | sign);
  }
};
struct CopySign {
  float operator()(float a, float b) const {
    return float_of((bits_of_float(b) & 0x7FFFFFFF) | (bits_of_float(a) & 0x80000000));
  }
  double operator()(double a, double b) const {
    return double_of((bits_of_double(b) & ~(1ull << 63)) | (bits_of_double(a) & 1ull << 63));
  }
};

// An operation with its modifiers applied.
template <class Op, class T, bool ftz, bool sat>
struct With {
  static T in(T value) {
    if constexpr (ftz) return flushed(value);
    return value;
  }
  static T done(T value) {
    if constexpr (sat) {
      value = saturated(value);
    } else if constexpr (std::is_same_v<T, float>) {
      value = canonical(value);
    }
    if constexpr (ftz) value = flushed(value);
    return value;
  }
  template <class... Ts>
  static T of(Ts... sources) {
    T value = Op{}(sources...);
    if constexpr (ftz && requires { Op::scaled(sources...); }) {
      const bool small = std::fabs(value) == least_normal &&
                         std::fabs(Op::scaled(sources...)) < least_normal * scale;
      value = small ? std::copysign(T{}, value) : value;
    }
    return done(value);
  }
  T operator()(T a) const { return of(in(a)); }
  T operator()(T a, T b) const { return of(in(a), in(b)); }
  T operator()(T a, T b, T c) const { return of(in(a), in(b), in(c)); }
};

template <class Op, class T, unsigned sources>
void plain(Warp &w, const Instruction &i, std::uint32_t mask) {
  if constexpr (sources == 1) unary<Op, T, T>(w, i, mask);
  if constexpr (sources == 2) binary<Op, T, T>(w, i, mask);
  if constexpr (sources == 3) ternary<Op, T, T>(w, i, mask);
}

// The processor's rounding mode is changed for these lanes only. All operands are read from memory
// and all results written there, so that nothing moves across the calls.
template <class Op, class T, unsigned sources>
void directed(Warp &w, const Instruction &i, std::uint32_t mask) {
  std::fesetround(i.option);
  plain<Op, T, sources>(w, i, mask);
  std::fesetround(FE_TONEAREST);
}

template <class Op, unsigned sources>
Execute of_single(bool ftz, bool sat, bool is_directed) {
  if (is_directed) {
    if (ftz)
      return sat ? directed<With<Op, float, true, true>, float, sources>
                 : directed<With<Op, float, true, false>, float, sources>;
    return sat ? directed<With<Op, float, false, true>, float, sources>
               : directed<With<Op, float, false, false>, float, sources>;
  }
  if (ftz)
    return sat ? plain<With<Op, float, true, true>, float, sources>
               : plain<With<Op, float, true, false>, float, sources>;
  return sat ? plain<With<Op, float, false, true>, float, sources>
             : plain<With<Op, float, false, false>, float, sources>;
}

template <class Op, unsigned sources>
Execute of(Type type, bool ftz, bool sat, bool is_directed) {
  if (type == Type::f32) return of_single<Op, sources>(ftz, sat, is_directed);
  return is_directed ? directed<With<Op, double, false, false>, double, sources>
                     : plain<With<Op, double, false, false>, double, sources>;
}

template <class Op, unsigned sources>
void arithmetic(Lowering &l, bool rounding_wanted, bool may_saturate) {
  const Rounding rounding = l.rounding();
  const bool ftz = l.take("ftz"), sat = may_saturate && l.take("sat");
  const Type type = l.type();
  if (type != Type::f32 && type != Type::f64) l.refuse_type(type);
  if (type == Type::f64 && (ftz || sat)) l.refuse(".ftz and .sat are only with .f32");
  if (rounding_wanted && rounding == Rounding::none) l.refuse("it wants a rounding mode");
  if constexpr (sources == 1) l.bind(type, {type});
  if constexpr (sources == 2) l.bind(type, {type, type});
  if constexpr (sources == 3) l.bind(type, {type, type, type});
  const int mode = mode_of(rounding);
  l.out.option = static_cast<std::uint16_t>(mode);
  l.out.run = of<Op, sources>(type, ftz, sat, mode != FE_TONEAREST);
}

template <bool least>
void select_extreme(Lowering &l) {
  const bool ftz = l.take("ftz"), nan = l.take("NaN");
  const bool xorsign = l.take("xorsign");
  if (xorsign && !l.take("abs")) l.refuse(".xorsign goes with .abs");
  const Type type = l.type();
  l.bind(type, {type, type});
  if (type == Type::f64) {
    if (ftz || nan || xorsign) l.refuse_modifier();
    l.out.run = binary<Extreme<least>, double, double>;
    return;
  }
  if (type != Type::f32) l.refuse_type(type);
  if (xorsign)
    l.out.run = nan ? of_single<ExtremeXorSign<least, true>, 2>(ftz, false, false)
                    : of_single<ExtremeXorSign<least, false>, 2>(ftz, false, false);
  else
    l.out.run = nan ? of_single<ExtremeOrNaN<least>, 2>(ftz, false, false)
                    : of_single<Extreme<least>, 2>(ftz, false, false);
}

template <class Op>
void select_sign(Lowering &l) {
  const bool ftz = l.take("ftz");
  const Type type = l.type();
  l.bind(type, {type});
  if (type == Type::f64 && !ftz)
    l.out.run = unary<With<Op, double, false, false>, double, double>;
  else if (type == Type::f32)
    l.out.run = of_single<Op, 1>(ftz, false, false);
  else
    l.refuse_type(type);
}

bool of_singles(const Lowering &l) {
  return (l.has("f32") || l.has("f64")) && !l.has("f16") && !l.has("bf16");
}

void select_div(Lowering &l) {
  const bool approx = l.take("approx"), full = l.take("full");
  if (!approx && !full) return arithmetic<Div, 2>(l, true, false);
  const bool ftz = l.take("ftz");
  const Type type = l.type();
  if (type != Type::f32) l.refuse_type(type);
  l.bind(type, {type, type});
  l.out.run =
      approx ? of_single<DivApprox, 2>(ftz, false, false) : of_single<Div, 2>(ftz, false, false);
}

}  // namespace

bool select_float(Lowering &l) {
  const std::string_view root = l.root;
  if (!of_singles(l)) return false;
  if (root == "add") return arithmetic<Add, 2>(l, false, true), true;
  if (root == "sub") return arithmetic<Sub, 2>(l, false, true), true;
  if (root == "mul") return arithmetic<Mul, 2>(l, false, true), true;
  if (root == "fma" || root == "mad") return arithmetic<Fma, 3>(l, true, true), true;
  if (root == "div") return select_div(l), true;
  if (root == "min") return select_extreme<true>(l), true;
  if (root == "max") return select_extreme<false>(l), true;
  if (root == "abs") return select_sign<Abs>(l), true;
  if (root == "neg") return select_sign<Neg>(l), true;
  if (root == "copysign") {
    const Type type = l.type();
    l.bind(type, {type, type});
    l.out.run =
        type == Type::f32 ? binary<CopySign, float, float> : binary<CopySign, double, double>;
    return true;
  }
  if (root == "rcp" && !l.has("approx")) return arithmetic<Rcp, 1>(l, true, false), true;
  if (root == "sqrt" && !l.has("approx")) return arithmetic<Sqrt, 1>(l, true, false), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
