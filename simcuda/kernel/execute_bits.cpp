// SPDX-License-Identifier: BSD-3-Clause
// Logic, shifts, and other operations on single bits.
#include <algorithm>

#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

template <class T>
struct And {
  T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct Or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct Xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <class T>
struct Not {
  T operator()(T a) const { return static_cast<T>(~a); }
};
template <class T>
struct Cnot {
  T operator()(T a) const { return a == 0; }
};
template <class T>
struct Shl {
  T operator()(T a, std::uint32_t b) const {
    return b < 8 * sizeof(T) ? static_cast<T>(a << b) : T{};
  }
};
template <class T>
struct Shr {
  T operator()(T a, std::uint32_t b) const {
    const std::uint32_t last = 8 * sizeof(T) - 1;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (b < last ? b : last));
    return b <= last ? static_cast<T>(a >> b) : T{};
  }
};
// Both registers as one of 64 bits, shifted; returns its upper or lower half.
template <bool left, bool wrap>
struct Funnel {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint32_t n = wrap ? c & 31 : std::min(c, 32u);
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    return static_cast<std::uint32_t>(left ? (both << n) >> 32 : both >> n);
  }
};
template <class T>
struct Popc {
  std::uint32_t operator()(T a) const { return static_cast<std::uint32_t>(std::popcount(a)); }
};
template <class T>
struct Clz {
  std::uint32_t operator()(T a) const { return static_cast<std::uint32_t>(std::countl_zero(a)); }
};
template <class T>
struct Brev {
  T operator()(T a) const {
    T out = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) out = static_cast<T>(out << 1 | (a >> i & 1));
    return out;
  }
};
// The most significant bit that differs from the sign.
template <class T, bool shift_amount>
struct Bfind {
  std::uint32_t operator()(T a) const {
    auto bits = static_cast<Unsigned<T>>(a);
    if (std::is_signed_v<T> && a < 0) bits = static_cast<Unsigned<T>>(~bits);
    if (bits == 0) return ~0u;
    const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
    return shift_amount ? zeros : static_cast<std::uint32_t>(8 * sizeof(T) - 1) - zeros;
  }
};
template <class T>
struct Bfe {
  T operator()(T a, std::uint32_t b, std::uint32_t c) const {
    constexpr std::uint32_t width = 8 * sizeof(T);
    const std::uint32_t from = b & 0xFF, length = c & 0xFF;
    if (length == 0) return 0;
    const std::uint32_t sign_at = std::min(from + length - 1, width - 1);
    const bool negative = std::is_signed_v<T> && (static_cast<Unsigned<T>>(a) >> sign_at & 1);
    const Unsigned<T> fill = negative ? static_cast<Unsigned<T>>(~Unsigned<T>{}) : Unsigned<T>{};
    if (from >= width) return static_cast<T>(fill);
    const std::uint32_t kept = std::min(length, width - from);
    const auto field = static_cast<Unsigned<T>>(static_cast<Unsigned<T>>(a) >> from);
    if (kept == width) return static_cast<T>(field);
    const auto low = static_cast<Unsigned<T>>((Unsigned<T>{1} << kept) - 1);
    return static_cast<T>((field & low) | (fill & static_cast<Unsigned<T>>(~low)));
  }
};
template <class T>
void bfi(Warp &w, const Instruction &i, std::uint32_t mask) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  const T *a = w.lanes<T>(i.a), *b = w.lanes<T>(i.b);
  const std::uint32_t *c = w.lanes<std::uint32_t>(i.c), *e = w.lanes<std::uint32_t>(i.e);
  put(w.lanes<T>(i.d), mask, [=](unsigned k) {
    const std::uint32_t from = c[k] & 0xFF, length = std::min(e[k] & 0xFF, width);
    if (from >= width || length == 0) return b[k];
    const T low = length == width ? static_cast<T>(~T{}) : static_cast<T>((T{1} << length) - 1);
    const T field = static_cast<T>(low << from);
    return static_cast<T>((b[k] & ~field) | (static_cast<T>(a[k] << from) & field));
  });
}
template <bool wrap>
struct Bmsk {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t from = wrap ? a & 31 : a, length = wrap ? b & 31 : b;
    if (from >= 32 || length == 0) return 0;
    const std::uint32_t low = length >= 32 ? ~0u : (1u << length) - 1;
    return low << from;
  }
};
template <bool wrap, bool is_signed>
struct Szext {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t length = wrap ? b & 31 : b;
    if (length >= 32) return a;
    if (length == 0) return 0;
    const std::uint32_t low = (1u << length) - 1;
    const bool negative = is_signed && (a >> (length - 1) & 1);
    return negative ? a | ~low : a & low;
  }
};
struct Fns {
  std::uint32_t operator()(std::uint32_t mask, std::uint32_t base, std::int32_t offset) const {
    if (offset == INT32_MIN) return 0;  // as ptxas interprets it
    if (base > 31) return ~0u;
    if (offset == 0) return mask >> base & 1 ? base : ~0u;
    const int step = offset > 0 ? 1 : -1;
    std::int64_t left = offset > 0 ? offset : -std::int64_t{offset};
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
      if (mask >> at & 1 && --left == 0) return static_cast<std::uint32_t>(at);
    return ~0u;
  }
};

void lop3(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t *a = w.lanes<std::uint32_t>(i.a), *b = w.lanes<std::uint32_t>(i.b),
                      *c = w.lanes<std::uint32_t>(i.c);
  // The minterms in the table, as masks.
  std::uint32_t in[8];
  for (unsigned n = 0; n < 8; ++n) in[n] = i.option >> n & 1 ? ~0u : 0;
  put(w.lanes<std::uint32_t>(i.d), mask, [=](unsigned k) {
    const std::uint32_t x = a[k], y = b[k], z = c[k];
    return (in[0] & ~x & ~y & ~z) | (in[1] & ~x & ~y & z) | (in[2] & ~x & y & ~z) |
           (in[3] & ~x & y & z) | (in[4] & x & ~y & ~z) | (in[5] & x & ~y & z) |
           (in[6] & x & y & ~z) | (in[7] & x & y & z);
  });
}

enum class Prmt : std::uint8_t { index, f4e, b4e, rc8, ecl, ecr, rc16 };

std::uint32_t prmt_selection(Prmt mode, std::uint32_t c) {
  const std::uint32_t n = c & 3;
  switch (mode) {
    case Prmt::index:
      return c;
    case Prmt::f4e:
      return 0x3210 + n * 0x1111;
    case Prmt::b4e:
      return (n << 0) | ((n + 7) % 8 << 4) | ((n + 6) % 8 << 8) | ((n + 5) % 8 << 12);
    case Prmt::rc8:
      return n * 0x1111;
    case Prmt::ecl:
      return std::max(n, 0u) | std::max(n, 1u) << 4 | std::max(n, 2u) << 8 | 3u << 12;
    case Prmt::ecr:
      return std::min(n, 1u) << 4 | std::min(n, 2u) << 8 | n << 12;
    case Prmt::rc16:
      return n & 1 ? 0x3232 : 0x1010;
  }
  return c;
}

template <Prmt mode>
struct Permute {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    const std::uint32_t selection = prmt_selection(mode, c);
    std::uint32_t out = 0;
    for (unsigned n = 0; n < 4; ++n) {
      const std::uint32_t select = selection >> (4 * n) & 15;
      auto byte = static_cast<std::uint8_t>(both >> (8 * (select & 7)));
      if (mode == Prmt::index && select & 8) byte = byte & 0x80 ? 0xFF : 0;
      out |= std::uint32_t{byte} << (8 * n);
    }
    return out;
  }
};

template <template <class> class Op>
Execute of_bits(Type type) {
  switch (bits_of(type)) {
    case 16:
      return binary<Op<std::uint16_t>, std::uint16_t, std::uint16_t>;
    case 32:
      return binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
    case 64:
      return binary<Op<std::uint64_t>, std::uint64_t, std::uint64_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Execute of_bits1(Type type) {
  switch (bits_of(type)) {
    case 16:
      return unary<Op<std::uint16_t>, std::uint16_t, std::uint16_t>;
    case 32:
      return unary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
    case 64:
      return unary<Op<std::uint64_t>, std::uint64_t, std::uint64_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Execute shift_of(Type type) {
  switch (type) {
    case Type::s16:
      return binary<Op<std::int16_t>, std::int16_t, std::int16_t, std::uint32_t>;
    case Type::s32:
      return binary<Op<std::int32_t>, std::int32_t, std::int32_t, std::uint32_t>;
    case Type::s64:
      return binary<Op<std::int64_t>, std::int64_t, std::int64_t, std::uint32_t>;
    case Type::b16:
    case Type::u16:
      return binary<Op<std::uint16_t>, std::uint16_t, std::uint16_t, std::uint32_t>;
    case Type::b32:
    case Type::u32:
      return binary<Op<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t>;
    case Type::b64:
    case Type::u64:
      return binary<Op<std::uint64_t>, std::uint64_t, std::uint64_t, std::uint32_t>;
    default:
      return nullptr;
  }
}

template <template <class> class Op>
Execute counting(Type type) {
  if (type == Type::b32) return unary<Op<std::uint32_t>, std::uint32_t, std::uint32_t>;
  if (type == Type::b64) return unary<Op<std::uint64_t>, std::uint32_t, std::uint64_t>;
  return nullptr;
}

template <bool shift_amount>
Execute bfind_of(Type type) {
  switch (type) {
    case Type::u32:
      return unary<Bfind<std::uint32_t, shift_amount>, std::uint32_t, std::uint32_t>;
    case Type::s32:
      return unary<Bfind<std::int32_t, shift_amount>, std::uint32_t, std::int32_t>;
    case Type::u64:
      return unary<Bfind<std::uint64_t, shift_amount>, std::uint32_t, std::uint64_t>;
    case Type::s64:
      return unary<Bfind<std::int64_t, shift_amount>, std::uint32_t, std::int64_t>;
    default:
      return nullptr;
  }
}

template <class T>
Execute bfe_typed() {
  return ternary<Bfe<T>, T, T, std::uint32_t, std::uint32_t>;
}

Execute bfe_of(Type type) {
  switch (type) {
    case Type::u32:
      return bfe_typed<std::uint32_t>();
    case Type::s32:
      return bfe_typed<std::int32_t>();
    case Type::u64:
      return bfe_typed<std::uint64_t>();
    case Type::s64:
      return bfe_typed<std::int64_t>();
    default:
      return nullptr;
  }
}

// Predicates are masks. `option` says how to combine both.
enum : std::uint16_t { both, either, one, inverse };
void logic_of_predicates(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t a = w.bits(i.a) ^ (i.flag ? ~0u : 0), b = w.bits(i.b) ^ (i.atomic ? ~0u : 0);
  const std::uint32_t value = i.option == both     ? a & b
                              : i.option == either ? a | b
                              : i.option == one    ? a ^ b
                                                   : ~a;
  put_bits(w.bits(i.d), mask, value);
}

template <template <class> class Op>
void select_logic(Lowering &l, std::uint16_t option) {
  const Type type = l.type();
  l.bind(type, {type, type});
  if (type == Type::pred) {
    l.out.option = option;
    l.out.flag = l.operand(1).negated;
    l.out.atomic = l.operand(2).negated;
    l.out.run = logic_of_predicates;
    return;
  }
  l.out.run = is_bits(type) ? of_bits<Op>(type) : nullptr;
  if (!l.out.run) l.refuse_type(type);
}

void select_prmt(Lowering &l) {
  const Type type = l.type();
  if (type != Type::b32) l.refuse_type(type);
  l.bind(type, {type, type, type});
  constexpr Execute by_mode[] = {
      ternary<Permute<Prmt::index>, std::uint32_t, std::uint32_t>,
      ternary<Permute<Prmt::f4e>, std::uint32_t, std::uint32_t>,
      ternary<Permute<Prmt::b4e>, std::uint32_t, std::uint32_t>,
      ternary<Permute<Prmt::rc8>, std::uint32_t, std::uint32_t>,
      ternary<Permute<Prmt::ecl>, std::uint32_t, std::uint32_t>,
      ternary<Permute<Prmt::ecr>, std::uint32_t, std::uint32_t>,
      ternary<Permute<Prmt::rc16>, std::uint32_t, std::uint32_t>,
  };
  std::size_t mode = 0;
  for (std::string_view name : {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) {
    if (!name.empty() && l.take(name)) l.out.run = by_mode[mode];
    ++mode;
  }
  if (!l.out.run) l.out.run = by_mode[0];
}

void finish(Lowering &l, Execute run, Type type) {
  if (!run) l.refuse_type(type);
  l.out.run = run;
}

template <bool wrap>
Execute szext_of(Type type) {
  if (type == Type::u32) return binary<Szext<wrap, false>, std::uint32_t, std::uint32_t>;
  if (type == Type::s32) return binary<Szext<wrap, true>, std::uint32_t, std::uint32_t>;
  return nullptr;
}

// .clamp or .wrap
bool take_wrap(Lowering &l) {
  const bool wrap = l.take("wrap"), clamp = l.take("clamp");
  if (wrap == clamp) l.refuse("it wants .clamp or .wrap");
  return wrap;
}

}  // namespace

bool select_bits(Lowering &l) {
  const std::string_view root = l.root;
  if (root == "and") return select_logic<And>(l, both), true;
  if (root == "or") return select_logic<Or>(l, either), true;
  if (root == "xor") return select_logic<Xor>(l, one), true;
  if (root == "not") {
    const Type type = l.type();
    l.bind(type, {type});
    if (type == Type::pred) {
      l.out.b = l.out.a;
      l.out.option = inverse;
      l.out.flag = l.operand(1).negated;
      l.out.run = logic_of_predicates;
      return true;
    }
    return finish(l, is_bits(type) ? of_bits1<Not>(type) : nullptr, type), true;
  }
  if (root == "cnot") {
    const Type type = l.type();
    l.bind(type, {type});
    return finish(l, is_bits(type) ? of_bits1<Cnot>(type) : nullptr, type), true;
  }
  if (root == "shl" || root == "shr") {
    const Type type = l.type();
    l.bind(type, {type, Type::b32});
    if (root == "shl" && !is_bits(type)) l.refuse_type(type);
    return finish(l, root == "shl" ? shift_of<Shl>(type) : shift_of<Shr>(type), type), true;
  }
  if (root == "shf") {
    const bool left = l.take("l"), right = l.take("r"), wrap = take_wrap(l);
    if (left == right) l.refuse("it wants .l or .r");
    const Type type = l.type();
    if (type != Type::b32) l.refuse_type(type);
    l.bind(type, {type, type, type});
    constexpr Execute by_mode[] = {ternary<Funnel<false, false>, std::uint32_t, std::uint32_t>,
                                   ternary<Funnel<false, true>, std::uint32_t, std::uint32_t>,
                                   ternary<Funnel<true, false>, std::uint32_t, std::uint32_t>,
                                   ternary<Funnel<true, true>, std::uint32_t, std::uint32_t>};
    l.out.run = by_mode[left * 2 + wrap];
    return true;
  }
  if (root == "popc" || root == "clz") {
    const Type type = l.type();
    l.bind(Type::b32, {type});
    return finish(l, root == "popc" ? counting<Popc>(type) : counting<Clz>(type), type), true;
  }
  if (root == "brev") {
    const Type type = l.type();
    l.bind(type, {type});
    return finish(l, type == Type::b32 || type == Type::b64 ? of_bits1<Brev>(type) : nullptr, type),
           true;
  }
  if (root == "bfind") {
    const bool amount = l.take("shiftamt");
    const Type type = l.type();
    l.bind(Type::b32, {type});
    return finish(l, amount ? bfind_of<true>(type) : bfind_of<false>(type), type), true;
  }
  if (root == "bfe") {
    const Type type = l.type();
    l.bind(type, {type, Type::b32, Type::b32});
    return finish(l, bfe_of(type), type), true;
  }
  if (root == "bfi") {
    const Type type = l.type();
    l.expect_operands(5);
    l.out.d = l.write(0, type);
    l.out.a = l.read(1, type);
    l.out.b = l.read(2, type);
    l.out.c = l.read(3, Type::b32);
    l.out.e = l.read(4, Type::b32);
    return finish(l,
                  type == Type::b32   ? bfi<std::uint32_t>
                  : type == Type::b64 ? bfi<std::uint64_t>
                                      : nullptr,
                  type),
           true;
  }
  if (root == "bmsk") {
    const bool wrap = take_wrap(l);
    const Type type = l.type();
    if (type != Type::b32) l.refuse_type(type);
    l.bind(type, {type, type});
    l.out.run = wrap ? binary<Bmsk<true>, std::uint32_t, std::uint32_t>
                     : binary<Bmsk<false>, std::uint32_t, std::uint32_t>;
    return true;
  }
  if (root == "szext") {
    const bool wrap = take_wrap(l);
    const Type type = l.type();
    l.bind(type, {type, Type::b32});
    return finish(l, wrap ? szext_of<true>(type) : szext_of<false>(type), type), true;
  }
  if (root == "fns") {
    const Type type = l.type();
    if (type != Type::b32) l.refuse_type(type);
    l.bind(type, {type, type, Type::s32});
    l.out.run = ternary<Fns, std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t>;
    return true;
  }
  if (root == "lop3") {
    const Type type = l.type();
    if (type != Type::b32) l.refuse_type(type);
    l.expect_operands(5);
    l.out.d = l.write(0, type);
    l.out.a = l.read(1, type);
    l.out.b = l.read(2, type);
    l.out.c = l.read(3, type);
    const Operand &table = l.operand(4);
    if (table.kind != Operand::Kind::integer || table.bits > 255)
      l.refuse("its table is a number from 0 to 255");
    l.out.option = static_cast<std::uint16_t>(table.bits);
    l.out.run = lop3;
    return true;
  }
  if (root == "prmt") return select_prmt(l), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
