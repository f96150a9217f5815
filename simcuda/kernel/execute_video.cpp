// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of two halves or four bytes of a register (vadd4, vabsdiff2 and the like), without the
// selection of single ones.
#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

enum class Op : std::uint8_t { add, sub, average, difference, min, max };

struct How {
  bool to_signed, a_signed, b_signed, saturate, sum;
};

template <unsigned bits>
std::int32_t part(std::uint32_t value, unsigned n, bool is_signed) {
  const std::uint32_t up = value << (32 - bits * (n + 1));
  return is_signed ? static_cast<std::int32_t>(up) >> (32 - bits)
                   : static_cast<std::int32_t>(up >> (32 - bits));
}

template <Op op>
std::int32_t applied(std::int32_t a, std::int32_t b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::average:
      return (a + b + (a + b >= 0)) >> 1;
    case Op::difference:
      return a < b ? b - a : a - b;
    case Op::min:
      return a < b ? a : b;
    case Op::max:
      return a < b ? b : a;
  }
  return 0;
}

template <Op op, unsigned bits>
void run(Warp &w, const Instruction &i, std::uint32_t mask) {
  const How how{(i.option & 1) != 0, (i.option & 2) != 0, (i.option & 4) != 0, i.flag, i.atomic};
  const std::uint32_t *a = w.lanes<std::uint32_t>(i.a), *b = w.lanes<std::uint32_t>(i.b),
                      *c = w.lanes<std::uint32_t>(i.c);
  const std::int32_t least = how.to_signed ? -(1 << (bits - 1)) : 0;
  const std::int32_t most = how.to_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  put(w.lanes<std::uint32_t>(i.d), mask, [=](unsigned k) {
    std::uint32_t packed = 0, sum = c[k];
    for (unsigned n = 0; n < 32 / bits; ++n) {
      std::int32_t value =
          applied<op>(part<bits>(a[k], n, how.a_signed), part<bits>(b[k], n, how.b_signed));
      // Before it is truncated to its part.
      sum += static_cast<std::uint32_t>(value);
      if (how.saturate) value = value < least ? least : value > most ? most : value;
      packed |= (static_cast<std::uint32_t>(value) & ((1u << bits) - 1)) << (bits * n);
    }
    return how.sum ? sum : packed;
  });
}

template <unsigned bits>
Execute run_of(Op op) {
  switch (op) {
    case Op::add:
      return run<Op::add, bits>;
    case Op::sub:
      return run<Op::sub, bits>;
    case Op::average:
      return run<Op::average, bits>;
    case Op::difference:
      return run<Op::difference, bits>;
    case Op::min:
      return run<Op::min, bits>;
    case Op::max:
      return run<Op::max, bits>;
  }
  return nullptr;
}

}  // namespace

bool select_video(Lowering &l) {
  static constexpr std::pair<std::string_view, Op> names[] = {
      {"vadd", Op::add}, {"vsub", Op::sub}, {"vavrg", Op::average}, {"vabsdiff", Op::difference},
      {"vmin", Op::min}, {"vmax", Op::max}};
  for (auto &[name, op] : names) {
    if (l.root.size() != name.size() + 1 || !l.root.starts_with(name)) continue;
    const char parts = l.root.back();
    if (parts != '2' && parts != '4') return false;
    std::uint16_t is_signed = 0;
    for (unsigned n = 0; n < 3; ++n) {
      const Type type = l.type();
      if (type != Type::u32 && type != Type::s32) l.refuse_type(type);
      is_signed |= static_cast<std::uint16_t>((type == Type::s32) << n);
    }
    l.out.option = is_signed;
    l.out.flag = l.take("sat");
    l.out.atomic = l.take("add");
    if (l.out.flag && l.out.atomic) l.refuse("there is no .sat with .add");
    l.bind(Type::b32, {Type::b32, Type::b32, Type::b32});
    l.out.run = parts == '2' ? run_of<16>(op) : run_of<8>(op);
    return true;
  }
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
