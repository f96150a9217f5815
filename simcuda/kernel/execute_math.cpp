// SPDX-License-Identifier: BSD-3-Clause
// The functions that PTX calls approximate. They are computed with more precision than they return,
// so they are within the documented error; the last digits differ from a GPU's.
#include <cmath>

#include "half.h"
#include "lanes.h"
#include "real.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

struct Rcp {
  static double of(double x) { return 1 / x; }
};
struct Sqrt {
  static double of(double x) { return std::sqrt(x); }
};
struct Rsqrt {
  static double of(double x) { return 1 / std::sqrt(x); }
};
struct Sin {
  static double of(double x) { return std::sin(x); }
};
struct Cos {
  static double of(double x) { return std::cos(x); }
};
struct Lg2 {
  static double of(double x) { return std::log2(x); }
};
struct Ex2 {
  static double of(double x) { return std::exp2(x); }
};
struct Tanh {
  static double of(double x) { return std::tanh(x); }
};

template <class Op, bool ftz>
void singles(Warp &w, const Instruction &i, std::uint32_t mask) {
  const float *a = w.lanes<float>(i.a);
  float *d = w.lanes<float>(i.d);
  each_active(mask, [=](unsigned k) {
    const float x = ftz ? flushed(a[k]) : a[k];
    const float value = canonical(static_cast<float>(Op::of(x)));
    d[k] = ftz ? flushed(value) : value;
  });
}

// Only the upper half of the argument counts, and the lower half of the result is 0.
template <class Op>
void coarse(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint64_t *a = w.lanes<std::uint64_t>(i.a);
  std::uint64_t *d = w.lanes<std::uint64_t>(i.d);
  const auto kept = [](std::uint64_t bits) {
    bits &= 0xFFFFFFFF00000000;
    return (bits & 0x7FF0000000000000) == 0 ? bits & 0x8000000000000000 : bits;
  };
  each_active(mask, [=](unsigned k) {
    const double value = Op::of(double_of(kept(a[k])));
    d[k] = value != value ? 0x7FFFFFFF00000000 : kept(bits_of_double(value));
  });
}

template <class Op>
void doubles(Warp &w, const Instruction &i, std::uint32_t mask) {
  const double *a = w.lanes<double>(i.a);
  double *d = w.lanes<double>(i.d);
  each_active(mask, [=](unsigned k) { d[k] = Op::of(a[k]); });
}

struct F16 {
  template <class Op>
  static std::uint16_t of(std::uint16_t half) {
    return to_half(Op::of(half_to_float(half)));
  }
};
template <bool ftz>
struct Bf16 {
  template <class Op>
  static std::uint16_t of(std::uint16_t half) {
    const float x = bhalf_to_float(half);
    const double y = Op::of(ftz ? flushed(x) : x);
    return to_bhalf(ftz && std::fabs(y) < 0x1p-126 ? std::copysign(0.0, y) : y);
  }
};

template <class Op, class Format>
void halves(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint16_t *a = w.lanes<std::uint16_t>(i.a);
  std::uint16_t *d = w.lanes<std::uint16_t>(i.d);
  each_active(mask, [=](unsigned k) { d[k] = Format::template of<Op>(a[k]); });
}

template <class Op, class Format>
void pairs(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t *a = w.lanes<std::uint32_t>(i.a);
  std::uint32_t *d = w.lanes<std::uint32_t>(i.d);
  each_active(mask, [=](unsigned k) {
    const auto low = Format::template of<Op>(static_cast<std::uint16_t>(a[k]));
    const auto high = Format::template of<Op>(static_cast<std::uint16_t>(a[k] >> 16));
    d[k] = low | static_cast<std::uint32_t>(high) << 16;
  });
}

template <class Op>
Execute half_function(Type type, bool ftz) {
  switch (type) {
    case Type::f16:
      return halves<Op, F16>;
    case Type::f16x2:
      return pairs<Op, F16>;
    case Type::bf16:
      return ftz ? halves<Op, Bf16<true>> : halves<Op, Bf16<false>>;
    case Type::bf16x2:
      return ftz ? pairs<Op, Bf16<true>> : pairs<Op, Bf16<false>>;
    default:
      return nullptr;
  }
}

// What there is beside f32: f64, f64 only with .ftz, or halves.
enum class Also : std::uint8_t { nothing, doubles, coarse_doubles, halves_of_ex2, halves_of_tanh };

template <class Op>
void select(Lowering &l, Also also) {
  if (!l.take("approx")) l.refuse("it wants .approx");
  const bool ftz = also != Also::halves_of_tanh && l.take("ftz");
  const Type type = l.type();
  l.bind(type, {type});
  if (type == Type::f32)
    l.out.run = ftz ? singles<Op, true> : singles<Op, false>;
  else if (type == Type::f64 && (also == Also::doubles || (also == Also::coarse_doubles && ftz)))
    l.out.run = ftz ? coarse<Op> : doubles<Op>;
  else if (also == Also::halves_of_tanh ||
           // With .ftz of bf16, and without of f16.
           (also == Also::halves_of_ex2 && ftz == (type == Type::bf16 || type == Type::bf16x2)))
    l.out.run = half_function<Op>(type, ftz);
  if (!l.out.run) l.refuse_type(type);
}

}  // namespace

bool select_math(Lowering &l) {
  const std::string_view root = l.root;
  if (root == "rcp") return select<Rcp>(l, Also::coarse_doubles), true;
  if (root == "sqrt") return select<Sqrt>(l, Also::nothing), true;
  if (root == "rsqrt") return select<Rsqrt>(l, Also::doubles), true;
  if (root == "sin") return select<Sin>(l, Also::nothing), true;
  if (root == "cos") return select<Cos>(l, Also::nothing), true;
  if (root == "lg2") return select<Lg2>(l, Also::nothing), true;
  if (root == "ex2") return select<Ex2>(l, Also::halves_of_ex2), true;
  if (root == "tanh") return select<Tanh>(l, Also::halves_of_tanh), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
