// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of integers.
#include <algorithm>

#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

// In the type's own width, without C's promotion to a signed int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 4, std::uint32_t, Unsigned<T>>;

template <class T>
struct Twice;
template <>
struct Twice<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct Twice<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct Twice<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct Twice<std::int32_t> {
  using type = std::int64_t;
};
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
template <>
struct Twice<std::uint64_t> {
  using type = Uint128;
};
template <>
struct Twice<std::int64_t> {
  using type = Int128;
};
template <class T>
using Wide = typename Twice<T>::type;

template <class T>
struct Add {
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
template <class T>
struct Sub {
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
template <class T>
struct MulLo {
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
template <class T>
struct MulHi {
  T operator()(T a, T b) const {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
};
template <class T>
struct MulWide {
  Wide<T> operator()(T a, T b) const { return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b); }
};
template <class T>
struct MadLo {
  T operator()(T a, T b, T c) const { return Add<T>{}(MulLo<T>{}(a, b), c); }
};
template <class T>
struct MadHi {
  T operator()(T a, T b, T c) const { return Add<T>{}(MulHi<T>{}(a, b), c); }
};
template <class T>
struct MadWide {
  Wide<T> operator()(T a, T b, Wide<T> c) const { return Add<Wide<T>>{}(MulWide<T>{}(a, b), c); }
};
struct AddSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    const std::int64_t sum = std::int64_t{a} + b;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct SubSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    const std::int64_t sum = std::int64_t{a} - b;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct MadHiSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return AddSat{}(MulHi<std::int32_t>{}(a, b), c);
  }
};
// The low 24 bits of each.
template <class T>
Wide<T> mul24(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<Wide<T>>(static_cast<T>(static_cast<Unsigned<T>>(a) << 8) >> 8) *
           (static_cast<T>(static_cast<Unsigned<T>>(b) << 8) >> 8);
  else
    return static_cast<Wide<T>>(a & 0xFFFFFF) * (b & 0xFFFFFF);
}
template <class T>
struct Mul24Lo {
  T operator()(T a, T b) const { return static_cast<T>(mul24(a, b)); }
};
template <class T>
struct Mul24Hi {
  T operator()(T a, T b) const { return static_cast<T>(mul24(a, b) >> 16); }
};
template <class T>
struct Mad24Lo {
  T operator()(T a, T b, T c) const { return Add<T>{}(Mul24Lo<T>{}(a, b), c); }
};
template <class T>
struct Mad24Hi {
  T operator()(T a, T b, T c) const { return Add<T>{}(Mul24Hi<T>{}(a, b), c); }
};
struct Mad24HiSat {
  std::int32_t operator()(std::int32_t a, std::int32_t b, std::int32_t c) const {
    return AddSat{}(Mul24Hi<std::int32_t>{}(a, b), c);
  }
};
template <class T>
struct Sad {
  T operator()(T a, T b, T c) const { return Add<T>{}(c, a < b ? Sub<T>{}(b, a) : Sub<T>{}(a, b)); }
};
// Where PTX leaves the result undefined, it is what GPUs return: all bits set.
template <class T>
struct Div {
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{});
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return Sub<T>{}(0, a);
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Rem {
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~T{});
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Abs {
  T operator()(T a) const { return a < 0 ? Sub<T>{}(0, a) : a; }
};
template <class T>
struct Neg {
  T operator()(T a) const { return Sub<T>{}(0, a); }
};
template <class T>
struct Min {
  T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T>
struct Max {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class Op>
struct Relu {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    const std::int32_t value = Op{}(a, b);
    return value < 0 ? 0 : value;
  }
};
// Two halves of a register.
template <class Op, class T, bool relu = false>
struct Pairs {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    T low = Op{}(static_cast<T>(a), static_cast<T>(b));
    T high = Op{}(static_cast<T>(a >> 16), static_cast<T>(b >> 16));
    if (relu && low < 0) low = 0;
    if (relu && high < 0) high = 0;
    return static_cast<std::uint16_t>(low) |
           static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16;
  }
};

// The sum of four products of bytes, or of two of halves and bytes.
template <class A, class B>
struct Dp4a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (unsigned i = 0; i < 32; i += 8)
      c += static_cast<std::uint32_t>(static_cast<A>(a >> i) * static_cast<B>(b >> i));
    return c;
  }
};
template <class A, class B, unsigned begin>
struct Dp2a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    using A16 = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
    for (unsigned i = 0; i < 2; ++i)
      c += static_cast<std::uint32_t>(static_cast<A16>(a >> (16 * i)) *
                                      static_cast<B>(b >> (begin + 8 * i)));
    return c;
  }
};

// Sums with a carry flag for each lane. A difference sets it where it borrows.
template <class T, bool subtract, bool in, bool out>
void carrying(Warp &w, const Instruction &i, std::uint32_t mask) {
  using U = Unsigned<T>;
  const U *a = w.lanes<U>(i.a), *b = w.lanes<U>(i.b);
  U *d = w.lanes<U>(i.d);
  const std::uint32_t before = w.carry();
  std::uint32_t after = 0;
  each_active(mask, [&](unsigned k) {
    const Uint128 carry = in ? before >> k & 1 : 0;
    const Uint128 sum = subtract ? static_cast<Uint128>(a[k]) - b[k] - carry
                                 : static_cast<Uint128>(a[k]) + b[k] + carry;
    d[k] = static_cast<U>(sum);
    after |= static_cast<std::uint32_t>((sum >> (8 * sizeof(T))) & 1) << k;
  });
  if (out) put_bits(w.carry(), mask, after);
}

template <class T, bool high, bool in, bool out>
void multiplying(Warp &w, const Instruction &i, std::uint32_t mask) {
  using U = Unsigned<T>;
  const T *a = w.lanes<T>(i.a), *b = w.lanes<T>(i.b);
  const U *c = w.lanes<U>(i.c);
  U *d = w.lanes<U>(i.d);
  const std::uint32_t before = w.carry();
  std::uint32_t after = 0;
  each_active(mask, [&](unsigned k) {
    const auto product = static_cast<U>(high ? MulHi<T>{}(a[k], b[k]) : MulLo<T>{}(a[k], b[k]));
    const Uint128 sum = static_cast<Uint128>(product) + c[k] + (in ? before >> k & 1 : 0);
    d[k] = static_cast<U>(sum);
    after |= static_cast<std::uint32_t>((sum >> (8 * sizeof(T))) & 1) << k;
  });
  if (out) put_bits(w.carry(), mask, after);
}

template <template <class> class Op>
Execute of_types(Type type) {
  switch (type) {
    case Type::u16:
      return binary<Op<std::uint16_t>, std::uint16_t, std::uint16_t>;
    case Type::s16:
      return binary<Op<std::int16_t>, std::int16_t, std::int16_t>;
    case Type::u32:
      return binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
    case Type::s32:
      return binary<Op<std::int32_t>, std::int32_t, std::int32_t>;
    case Type::u64:
      return binary<Op<std::uint64_t>, std::uint64_t, std::uint64_t>;
    case Type::s64:
      return binary<Op<std::int64_t>, std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Execute of_types3(Type type) {
  switch (type) {
    case Type::u16:
      return ternary<Op<std::uint16_t>, std::uint16_t, std::uint16_t>;
    case Type::s16:
      return ternary<Op<std::int16_t>, std::int16_t, std::int16_t>;
    case Type::u32:
      return ternary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
    case Type::s32:
      return ternary<Op<std::int32_t>, std::int32_t, std::int32_t>;
    case Type::u64:
      return ternary<Op<std::uint64_t>, std::uint64_t, std::uint64_t>;
    case Type::s64:
      return ternary<Op<std::int64_t>, std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Execute of_signed(Type type) {
  switch (type) {
    case Type::s16:
      return unary<Op<std::int16_t>, std::int16_t, std::int16_t>;
    case Type::s32:
      return unary<Op<std::int32_t>, std::int32_t, std::int32_t>;
    case Type::s64:
      return unary<Op<std::int64_t>, std::int64_t, std::int64_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Execute of_32(Type type) {
  if (type == Type::u32) return binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
  if (type == Type::s32) return binary<Op<std::int32_t>, std::int32_t, std::int32_t>;
  return nullptr;
}

template <template <class> class Op>
Execute of_32_3(Type type) {
  if (type == Type::u32) return ternary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
  if (type == Type::s32) return ternary<Op<std::int32_t>, std::int32_t, std::int32_t>;
  return nullptr;
}

template <template <class> class Op>
Execute of_wide(Type type) {
  switch (type) {
    case Type::u16:
      return binary<Op<std::uint16_t>, std::uint32_t, std::uint16_t>;
    case Type::s16:
      return binary<Op<std::int16_t>, std::int32_t, std::int16_t>;
    case Type::u32:
      return binary<Op<std::uint32_t>, std::uint64_t, std::uint32_t>;
    case Type::s32:
      return binary<Op<std::int32_t>, std::int64_t, std::int32_t>;
    default:
      return nullptr;
  }
}

Execute mad_wide(Type type) {
  switch (type) {
    case Type::u16:
      return ternary<MadWide<std::uint16_t>, std::uint32_t, std::uint16_t>;
    case Type::s16:
      return ternary<MadWide<std::int16_t>, std::int32_t, std::int16_t>;
    case Type::u32:
      return ternary<MadWide<std::uint32_t>, std::uint64_t, std::uint32_t>;
    case Type::s32:
      return ternary<MadWide<std::int32_t>, std::int64_t, std::int32_t>;
    default:
      return nullptr;
  }
}

Type wider(Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

template <bool subtract, bool in>
Execute carrying_of(Type type, bool out) {
  switch (type) {
    case Type::u32:
    case Type::s32:
      return out ? carrying<std::uint32_t, subtract, in, true>
                 : carrying<std::uint32_t, subtract, in, false>;
    case Type::u64:
    case Type::s64:
      return out ? carrying<std::uint64_t, subtract, in, true>
                 : carrying<std::uint64_t, subtract, in, false>;
    default:
      return nullptr;
  }
}

template <class T>
Execute multiplying_of(bool high, bool in, bool out) {
  if (high && in) return out ? multiplying<T, true, true, true> : multiplying<T, true, true, false>;
  if (high) return multiplying<T, true, false, true>;
  if (in) return out ? multiplying<T, false, true, true> : multiplying<T, false, true, false>;
  return multiplying<T, false, false, true>;
}

Execute multiplying_of(Type type, bool high, bool in, bool out) {
  switch (type) {
    case Type::u32:
      return multiplying_of<std::uint32_t>(high, in, out);
    case Type::s32:
      return multiplying_of<std::int32_t>(high, in, out);
    case Type::u64:
      return multiplying_of<std::uint64_t>(high, in, out);
    case Type::s64:
      return multiplying_of<std::int64_t>(high, in, out);
    default:
      return nullptr;
  }
}

void finish(Lowering &l, Execute run, Type type) {
  if (!run) l.refuse_type(type);
  l.out.run = run;
}

bool has_integer_type(const Lowering &l) {
  for (std::string_view name :
       {"u16", "s16", "u32", "s32", "u64", "s64", "u16x2", "s16x2", "b32", "b64"})
    if (l.has(name)) return true;
  return false;
}

void select_add(Lowering &l, bool subtract) {
  const bool out = l.take("cc"), sat = l.take("sat");
  const Type type = l.type();
  l.bind(type, {type, type});
  if (out)
    return finish(
        l, subtract ? carrying_of<true, false>(type, true) : carrying_of<false, false>(type, true),
        type);
  if (sat) {
    if (type != Type::s32) l.refuse_type(type);
    l.out.run = subtract ? binary<SubSat, std::int32_t, std::int32_t>
                         : binary<AddSat, std::int32_t, std::int32_t>;
    return;
  }
  if (!subtract && (type == Type::u16x2 || type == Type::s16x2)) {
    l.out.run = binary<Pairs<Add<std::uint16_t>, std::uint16_t>, std::uint32_t, std::uint32_t>;
    return;
  }
  finish(l, subtract ? of_types<Sub>(type) : of_types<Add>(type), type);
}

void select_mul(Lowering &l) {
  const bool lo = l.take("lo"), hi = l.take("hi"), wide = l.take("wide");
  if (lo + hi + wide != 1) l.refuse("it wants one of .lo, .hi and .wide");
  const Type type = l.type();
  l.bind(wide ? wider(type) : type, {type, type});
  finish(l, lo ? of_types<MulLo>(type) : hi ? of_types<MulHi>(type) : of_wide<MulWide>(type), type);
}

void select_mad(Lowering &l, bool in) {
  const bool lo = l.take("lo"), hi = l.take("hi"), wide = l.take("wide");
  const bool out = l.take("cc"), sat = l.take("sat");
  if (lo + hi + wide != 1) l.refuse("it wants one of .lo, .hi and .wide");
  const Type type = l.type();
  l.bind(wide ? wider(type) : type, {type, type, wide ? wider(type) : type});
  if (in || out) {
    if (wide) l.refuse("there is no carry with .wide");
    return finish(l, multiplying_of(type, hi, in, out), type);
  }
  if (sat) {
    if (!hi || type != Type::s32) l.refuse(".sat is only with .hi and .s32");
    l.out.run = ternary<MadHiSat, std::int32_t, std::int32_t>;
    return;
  }
  finish(l, lo ? of_types3<MadLo>(type) : hi ? of_types3<MadHi>(type) : mad_wide(type), type);
}

template <template <class> class Op>
void select_min_max(Lowering &l) {
  const bool relu = l.take("relu");
  const Type type = l.type();
  l.bind(type, {type, type});
  if (type == Type::u16x2) {
    if (relu) l.refuse_type(type);
    l.out.run = binary<Pairs<Op<std::uint16_t>, std::uint16_t>, std::uint32_t, std::uint32_t>;
  } else if (type == Type::s16x2) {
    l.out.run =
        relu ? binary<Pairs<Op<std::int16_t>, std::int16_t, true>, std::uint32_t, std::uint32_t>
             : binary<Pairs<Op<std::int16_t>, std::int16_t>, std::uint32_t, std::uint32_t>;
  } else if (relu) {
    if (type != Type::s32) l.refuse_type(type);
    l.out.run = binary<Relu<Op<std::int32_t>>, std::int32_t, std::int32_t>;
  } else {
    finish(l, of_types<Op>(type), type);
  }
}

template <template <class, class> class Op>
Execute of_dot(Type a, Type b) {
  if (a == Type::u32 && b == Type::u32)
    return ternary<Op<std::uint8_t, std::uint8_t>, std::uint32_t, std::uint32_t>;
  if (a == Type::u32) return ternary<Op<std::uint8_t, std::int8_t>, std::uint32_t, std::uint32_t>;
  if (b == Type::u32) return ternary<Op<std::int8_t, std::uint8_t>, std::uint32_t, std::uint32_t>;
  return ternary<Op<std::int8_t, std::int8_t>, std::uint32_t, std::uint32_t>;
}
template <class A, class B>
using Dp2aLo = Dp2a<A, B, 0>;
template <class A, class B>
using Dp2aHi = Dp2a<A, B, 16>;

void select_dot(Lowering &l, bool four) {
  const bool lo = l.take("lo"), hi = l.take("hi");
  if (lo + hi != (four ? 0 : 1)) l.refuse("it wants .lo or .hi");
  const Type a = l.type(), b = l.type();
  for (Type type : {a, b})
    if (type != Type::u32 && type != Type::s32) l.refuse_type(type);
  l.bind(Type::b32, {Type::b32, Type::b32, Type::b32});
  l.out.run = four ? of_dot<Dp4a>(a, b) : lo ? of_dot<Dp2aLo>(a, b) : of_dot<Dp2aHi>(a, b);
}

}  // namespace

bool select_integer(Lowering &l) {
  const std::string_view root = l.root;
  if (root == "dp4a" || root == "dp2a") return select_dot(l, root == "dp4a"), true;
  if (root == "mul24" || root == "mad24") {
    const bool lo = l.take("lo"), hi = l.take("hi"), sat = l.take("sat");
    if (lo + hi != 1) l.refuse("it wants .lo or .hi");
    const Type type = l.type();
    if (root == "mul24") {
      l.bind(type, {type, type});
      finish(l, lo ? of_32<Mul24Lo>(type) : of_32<Mul24Hi>(type), type);
    } else {
      l.bind(type, {type, type, type});
      if (sat && (lo || type != Type::s32)) l.refuse(".sat is only with .hi and .s32");
      finish(l,
             sat  ? ternary<Mad24HiSat, std::int32_t, std::int32_t>
             : lo ? of_32_3<Mad24Lo>(type)
                  : of_32_3<Mad24Hi>(type),
             type);
    }
    return true;
  }
  if (!has_integer_type(l)) return false;
  if (root == "add") return select_add(l, false), true;
  if (root == "sub") return select_add(l, true), true;
  if (root == "mul") return select_mul(l), true;
  if (root == "mad") return select_mad(l, false), true;
  if (root == "madc") return select_mad(l, true), true;
  if (root == "min") return select_min_max<Min>(l), true;
  if (root == "max") return select_min_max<Max>(l), true;
  if (root == "addc" || root == "subc") {
    const bool out = l.take("cc");
    const Type type = l.type();
    l.bind(type, {type, type});
    finish(
        l,
        root == "addc" ? carrying_of<false, true>(type, out) : carrying_of<true, true>(type, out),
        type);
    return true;
  }
  if (root == "sad") {
    const Type type = l.type();
    l.bind(type, {type, type, type});
    return finish(l, of_types3<Sad>(type), type), true;
  }
  if (root == "div" || root == "rem") {
    const Type type = l.type();
    l.bind(type, {type, type});
    return finish(l, root == "div" ? of_types<Div>(type) : of_types<Rem>(type), type), true;
  }
  if (root == "abs" || root == "neg") {
    const Type type = l.type();
    l.bind(type, {type});
    return finish(l, root == "abs" ? of_signed<Abs>(type) : of_signed<Neg>(type), type), true;
  }
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
