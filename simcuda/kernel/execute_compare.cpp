// SPDX-License-Identifier: BSD-3-Clause
// Comparisons, and selection by their result.
#include <cmath>

#include "half.h"
#include "lanes.h"
#include "real.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

enum class Compare : std::uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};
constexpr std::string_view names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                      "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

template <Compare how, class T>
inline bool holds(T a, T b) {
  switch (how) {
    case Compare::eq:
      return a == b;
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::ne:
      // Of numbers only: all ordered comparisons with NaN are false.
      if constexpr (std::is_floating_point_v<T>) return a < b || a > b;
      return a != b;
    case Compare::equ:
      return !(a < b || a > b);
    case Compare::neu:
      return !(a == b);
    case Compare::ltu:
      return !(a >= b);
    case Compare::leu:
      return !(a > b);
    case Compare::gtu:
      return !(a <= b);
    case Compare::geu:
      return !(a < b);
    case Compare::num:
      return a == a && b == b;
    case Compare::nan:
      return a != a || b != b;
  }
  return false;
}

template <class T>
struct Plain {
  using Lane = T;
  static T value(T lane) { return lane; }
};
struct Flushed {
  using Lane = float;
  static float value(float lane) { return flushed(lane); }
};
template <bool ftz>
struct HalfValue {
  using Lane = std::uint16_t;
  static float value(std::uint16_t lane) { return half_to_float(ftz ? flushed_half(lane) : lane); }
};
struct BhalfValue {
  using Lane = std::uint16_t;
  static float value(std::uint16_t lane) { return bhalf_to_float(lane); }
};

template <Compare how, class Source>
std::uint32_t compare(Warp &w, Place32 at, Place32 bt) {
  using Lane = typename Source::Lane;
  const Lane *a = aligned(w.lanes<Lane>(at)), *b = aligned(w.lanes<Lane>(bt));
  return mask_of([=](unsigned k) { return holds<how>(Source::value(a[k]), Source::value(b[k])); });
}

// The lower halves and the upper ones.
template <Compare how, class Source>
std::pair<std::uint32_t, std::uint32_t> compare_pairs(Warp &w, Place32 at, Place32 bt) {
  const std::uint32_t *a = w.lanes<std::uint32_t>(at), *b = w.lanes<std::uint32_t>(bt);
  const auto half = [&](unsigned shift) {
    return mask_of([=](unsigned k) {
      return holds<how>(Source::value(static_cast<std::uint16_t>(a[k] >> shift)),
                        Source::value(static_cast<std::uint16_t>(b[k] >> shift)));
    });
  };
  return {half(0), half(16)};
}

enum : std::uint8_t { no_bool, and_bool, or_bool, xor_bool };

inline std::uint32_t combine(const Warp &w, const Instruction &i, std::uint32_t value) {
  if (i.count == no_bool) return value;
  const std::uint32_t c = w.bits(i.c) ^ (i.flag ? ~0u : 0);
  return i.count == and_bool ? value & c : i.count == or_bool ? value | c : value ^ c;
}

template <Compare how, class Source>
void setp(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t value = compare<how, Source>(w, i.a, i.b);
  // Both are computed before either is written: they may be the third operand.
  const std::uint32_t p = combine(w, i, value), q = combine(w, i, ~value);
  put_bits(w.bits(i.d), mask, p);
  if (i.atomic) put_bits(w.bits(i.e), mask, q);
}

template <Compare how, class Source>
void setp_pairs(Warp &w, const Instruction &i, std::uint32_t mask) {
  const auto [low, high] = compare_pairs<how, Source>(w, i.a, i.b);
  const std::uint32_t p = combine(w, i, low), q = combine(w, i, high);
  put_bits(w.bits(i.d), mask, p);
  put_bits(w.bits(i.e), mask, q);
}

// What `set` writes for true: all bits set, or 1.0 of the destination's type.
template <Compare how, class Source>
void set(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t value = combine(w, i, compare<how, Source>(w, i.a, i.b));
  if (i.size == 2) {
    const auto yes = static_cast<std::uint16_t>(i.option);
    put(w.lanes<std::uint16_t>(i.d), mask,
        [=](unsigned k) { return static_cast<std::uint16_t>(value & lane_bits.bit[k] ? yes : 0); });
  } else {
    const auto yes = static_cast<std::uint32_t>(i.immediate);
    put(w.lanes<std::uint32_t>(i.d), mask,
        [=](unsigned k) { return value & lane_bits.bit[k] ? yes : 0; });
  }
}

template <Compare how, class Source>
void set_pairs(Warp &w, const Instruction &i, std::uint32_t mask) {
  auto [low, high] = compare_pairs<how, Source>(w, i.a, i.b);
  low = combine(w, i, low);
  high = combine(w, i, high);
  const auto yes = static_cast<std::uint32_t>(i.immediate);
  put(w.lanes<std::uint32_t>(i.d), mask, [=](unsigned k) {
    return (low & lane_bits.bit[k] ? yes & 0xFFFF : 0) |
           (high & lane_bits.bit[k] ? yes & 0xFFFF0000 : 0);
  });
}

// The function for a comparison, by the operands' type.
struct Kind {
  Execute setp, set;
};

template <Compare how>
Kind kind_of(Type type, bool ftz) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return {setp<how, Plain<std::uint16_t>>, set<how, Plain<std::uint16_t>>};
    case Type::s16:
      return {setp<how, Plain<std::int16_t>>, set<how, Plain<std::int16_t>>};
    case Type::b32:
    case Type::u32:
      return {setp<how, Plain<std::uint32_t>>, set<how, Plain<std::uint32_t>>};
    case Type::s32:
      return {setp<how, Plain<std::int32_t>>, set<how, Plain<std::int32_t>>};
    case Type::b64:
    case Type::u64:
      return {setp<how, Plain<std::uint64_t>>, set<how, Plain<std::uint64_t>>};
    case Type::s64:
      return {setp<how, Plain<std::int64_t>>, set<how, Plain<std::int64_t>>};
    case Type::f32:
      if (ftz) return {setp<how, Flushed>, set<how, Flushed>};
      return {setp<how, Plain<float>>, set<how, Plain<float>>};
    case Type::f64:
      return {setp<how, Plain<double>>, set<how, Plain<double>>};
    case Type::f16:
      if (ftz) return {setp<how, HalfValue<true>>, set<how, HalfValue<true>>};
      return {setp<how, HalfValue<false>>, set<how, HalfValue<false>>};
    case Type::bf16:
      return {setp<how, BhalfValue>, set<how, BhalfValue>};
    case Type::f16x2:
      if (ftz) return {setp_pairs<how, HalfValue<true>>, set_pairs<how, HalfValue<true>>};
      return {setp_pairs<how, HalfValue<false>>, set_pairs<how, HalfValue<false>>};
    case Type::bf16x2:
      return {setp_pairs<how, BhalfValue>, set_pairs<how, BhalfValue>};
    default:
      return {nullptr, nullptr};
  }
}

Kind kind_of(Compare how, Type type, bool ftz) {
  switch (how) {
    case Compare::eq:
      return kind_of<Compare::eq>(type, ftz);
    case Compare::ne:
      return kind_of<Compare::ne>(type, ftz);
    case Compare::lt:
      return kind_of<Compare::lt>(type, ftz);
    case Compare::le:
      return kind_of<Compare::le>(type, ftz);
    case Compare::gt:
      return kind_of<Compare::gt>(type, ftz);
    case Compare::ge:
      return kind_of<Compare::ge>(type, ftz);
    default:
      break;
  }
  if (!is_real(type)) return {nullptr, nullptr};
  switch (how) {
    case Compare::equ:
      return kind_of<Compare::equ>(type, ftz);
    case Compare::neu:
      return kind_of<Compare::neu>(type, ftz);
    case Compare::ltu:
      return kind_of<Compare::ltu>(type, ftz);
    case Compare::leu:
      return kind_of<Compare::leu>(type, ftz);
    case Compare::gtu:
      return kind_of<Compare::gtu>(type, ftz);
    case Compare::geu:
      return kind_of<Compare::geu>(type, ftz);
    case Compare::num:
      return kind_of<Compare::num>(type, ftz);
    default:
      return kind_of<Compare::nan>(type, ftz);
  }
}

void check_flushing(Lowering &l, bool ftz, Type type) {
  if (ftz && type != Type::f32 && type != Type::f16 && type != Type::f16x2) l.refuse_type(type);
}

Compare take_comparison(Lowering &l, bool &is_unsigned_name) {
  const std::string_view name = l.take_next();
  // lo, ls, hi and hs were first defined for unsigned integers.
  is_unsigned_name = true;
  if (name == "lo") return Compare::lt;
  if (name == "ls") return Compare::le;
  if (name == "hi") return Compare::gt;
  if (name == "hs") return Compare::ge;
  is_unsigned_name = false;
  for (std::size_t n = 0; n < std::size(names); ++n)
    if (names[n] == name) return static_cast<Compare>(n);
  l.refuse("." + std::string(name) + " is no comparison");
}

std::uint8_t take_bool(Lowering &l) {
  return l.take("and") ? and_bool : l.take("or") ? or_bool : l.take("xor") ? xor_bool : no_bool;
}

Execute checked(Lowering &l, Execute run, Compare how, Type type) {
  if (!run || (is_bits(type) && how != Compare::eq && how != Compare::ne)) l.refuse_type(type);
  return run;
}

void bind_third(Lowering &l) {
  l.expect_operands(l.out.count ? 4 : 3);
  if (!l.out.count) return;
  l.out.c = l.read(3, Type::pred);
  l.out.flag = l.operand(3).negated;
}

void select_setp(Lowering &l) {
  bool by_unsigned_name;
  const Compare how = take_comparison(l, by_unsigned_name);
  l.out.count = take_bool(l);
  const bool ftz = l.take("ftz");
  const Type type = l.type();
  check_flushing(l, ftz, type);
  if (by_unsigned_name && !is_unsigned(type)) l.refuse_type(type);
  const Operand &to = l.operand(0);
  l.out.d = l.write(0, Type::pred);
  l.out.e = l.scratch();
  if (to.second >= 0) {
    if (type == Type::f16 || type == Type::bf16) l.refuse("only pairs have two results here");
    Operand second = to;
    second.index = to.second;
    l.out.e = l.write(second, Type::pred);
    l.out.atomic = true;
  }
  l.out.a = l.read(1, type);
  l.out.b = l.read(2, type);
  bind_third(l);
  l.out.run = checked(l, kind_of(how, type, ftz).setp, how, type);
}

void select_set(Lowering &l) {
  bool by_unsigned_name;
  const Compare how = take_comparison(l, by_unsigned_name);
  l.out.count = take_bool(l);
  const bool ftz = l.take("ftz");
  const Type to = l.type(), type = l.type();
  check_flushing(l, ftz, type);
  if (by_unsigned_name && !is_unsigned(type)) l.refuse_type(type);
  const bool half = type == Type::f16 || type == Type::bf16;
  const bool pairs = type == Type::f16x2 || type == Type::bf16x2;
  l.out.size = 4;
  switch (to) {
    case Type::u32:
    case Type::s32:
      l.out.immediate = 0xFFFFFFFF;
      break;
    case Type::f32:
      if (half || pairs) l.refuse_type(type);
      l.out.immediate = 0x3F800000;
      break;
    case Type::f16x2:
    case Type::bf16x2:
      if (type != to) l.refuse_type(type);
      l.out.immediate = to == Type::f16x2 ? 0x3C003C00 : 0x3F803F80;
      break;
    case Type::u16:
    case Type::s16:
      if (!half) l.refuse_type(type);
      l.out.size = 2, l.out.option = 0xFFFF;
      break;
    case Type::f16:
      if (pairs || type == Type::bf16) l.refuse_type(type);
      l.out.size = 2, l.out.option = 0x3C00;
      break;
    case Type::bf16:
      if (pairs || ftz) l.refuse_type(type);
      l.out.size = 2, l.out.option = 0x3F80;
      break;
    default:
      l.refuse_type(to);
  }
  l.out.d = l.write(0, to);
  l.out.a = l.read(1, type);
  l.out.b = l.read(2, type);
  bind_third(l);
  l.out.run = checked(l, kind_of(how, type, ftz).set, how, type);
}

template <class T>
void selp(Warp &w, const Instruction &i, std::uint32_t mask) {
  const T *a = aligned(w.lanes<T>(i.a)), *b = aligned(w.lanes<T>(i.b));
  const std::uint32_t c = w.bits(i.c) ^ (i.flag ? ~0u : 0);
  put(w.lanes<T>(i.d), mask, [=](unsigned k) { return c & lane_bits.bit[k] ? a[k] : b[k]; });
}

void select_selp(Lowering &l) {
  const Type type = l.type();
  if (!is_movable(type)) l.refuse_type(type);
  l.bind(type, {type, type, Type::pred});
  l.out.flag = l.operand(3).negated;
  switch (bits_of(type)) {
    case 16:
      l.out.run = selp<std::uint16_t>;
      return;
    case 32:
      l.out.run = selp<std::uint32_t>;
      return;
    case 64:
      l.out.run = selp<std::uint64_t>;
      return;
    default:
      l.refuse_type(type);
  }
}

template <class T, class C, bool ftz>
void slct(Warp &w, const Instruction &i, std::uint32_t mask) {
  const T *a = w.lanes<T>(i.a), *b = w.lanes<T>(i.b);
  const C *c = w.lanes<C>(i.c);
  put(w.lanes<T>(i.d), mask, [=](unsigned k) {
    if constexpr (ftz) return flushed(c[k]) >= 0 ? a[k] : b[k];
    return c[k] >= 0 ? a[k] : b[k];
  });
}

template <class T>
Execute slct_of(Type by, bool ftz) {
  if (by == Type::s32) return slct<T, std::int32_t, false>;
  return ftz ? slct<T, float, true> : slct<T, float, false>;
}

void select_slct(Lowering &l) {
  const bool ftz = l.take("ftz");
  const Type type = l.type(), by = l.type();
  if (!is_movable(type)) l.refuse_type(type);
  if (by != Type::f32 && (by != Type::s32 || ftz)) l.refuse_type(by);
  l.bind(type, {type, type, by});
  switch (bits_of(type)) {
    case 16:
      l.out.run = slct_of<std::uint16_t>(by, ftz);
      return;
    case 32:
      l.out.run = slct_of<std::uint32_t>(by, ftz);
      return;
    case 64:
      l.out.run = slct_of<std::uint64_t>(by, ftz);
      return;
    default:
      l.refuse_type(type);
  }
}

template <class T>
bool is_of_class(T value, unsigned which) {
  switch (which) {
    case 0:
      return std::isfinite(value);
    case 1:
      return std::isinf(value);
    case 2:
      return !std::isnan(value);
    case 3:
      return std::isnan(value);
    case 4:
      return std::isnormal(value) || value == 0;
    default:
      return std::fpclassify(value) == FP_SUBNORMAL;
  }
}

template <class T>
void testp(Warp &w, const Instruction &i, std::uint32_t mask) {
  const T *a = w.lanes<T>(i.a);
  const unsigned which = i.option;
  put_bits(w.bits(i.d), mask, mask_of([=](unsigned k) { return is_of_class(a[k], which); }));
}

void select_testp(Lowering &l) {
  constexpr std::string_view classes[] = {"finite",     "infinite", "number",
                                          "notanumber", "normal",   "subnormal"};
  const std::string_view name = l.take_next();
  std::uint16_t which = 0;
  while (which < std::size(classes) && classes[which] != name) ++which;
  if (which == std::size(classes)) l.refuse("." + std::string(name) + " is not known");
  const Type type = l.type();
  l.bind(Type::pred, {type});
  l.out.option = which;
  if (type == Type::f32)
    l.out.run = testp<float>;
  else if (type == Type::f64)
    l.out.run = testp<double>;
  else
    l.refuse_type(type);
}

}  // namespace

bool select_compare(Lowering &l) {
  if (l.root == "setp") return select_setp(l), true;
  if (l.root == "set") return select_set(l), true;
  if (l.root == "selp") return select_selp(l), true;
  if (l.root == "slct") return select_slct(l), true;
  if (l.root == "testp") return select_testp(l), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
