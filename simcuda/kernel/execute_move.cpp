// SPDX-License-Identifier: BSD-3-Clause
// Moves of registers, addresses, vectors and clocks, and conversions of addresses.
#include <chrono>
#include <ctime>

#include "lanes.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

template <class T>
void move(Warp &w, const Instruction &i, std::uint32_t mask) {
  const T *a = aligned(w.lanes<T>(i.a));
  put(w.lanes<T>(i.d), mask, [=](unsigned k) { return a[k]; });
}

void move_predicate(Warp &w, const Instruction &i, std::uint32_t mask) {
  put_bits(w.bits(i.d), mask, w.bits(i.a) ^ (i.flag ? ~0u : 0));
}

template <class T>
void move_local(Warp &w, const Instruction &i, std::uint32_t mask) {
  const auto at = static_cast<T>(w.frame->local_base + static_cast<std::uint64_t>(i.immediate));
  put(w.lanes<T>(i.d), mask, [=](unsigned) { return at; });
}

// {a, b, ...} into one register, the first in the lowest bits.
template <class T, class Part>
void pack(Warp &w, const Instruction &i, std::uint32_t mask) {
  alignas(64) T made[32] = {};
  const Place32 *parts = w.frame->body->lists.data() + i.list;
  for (unsigned n = 0; n < sizeof(T) / sizeof(Part); ++n) {
    // A part of 8 bits is in lanes of 16.
    using Lane = std::conditional_t<sizeof(Part) == 1, std::uint16_t, Part>;
    const Lane *part = w.lanes<Lane>(parts[n]);
    EACH_LANE made[k] |=
        static_cast<T>(static_cast<T>(static_cast<Part>(part[k])) << (8 * sizeof(Part) * n));
  }
  put(w.lanes<T>(i.d), mask, [&](unsigned k) { return made[k]; });
}

template <class T, class Part>
void unpack(Warp &w, const Instruction &i, std::uint32_t mask) {
  // A part may be the same register as the whole.
  alignas(64) T whole[32];
  const T *a = w.lanes<T>(i.a);
  EACH_LANE whole[k] = a[k];
  const Place32 *parts = w.frame->body->lists.data() + i.list;
  for (unsigned n = 0; n < sizeof(T) / sizeof(Part); ++n) {
    using Lane = std::conditional_t<sizeof(Part) == 1, std::uint16_t, Part>;
    put(w.lanes<Lane>(parts[n]), mask, [&](unsigned k) {
      return static_cast<Lane>(static_cast<Part>(whole[k] >> (8 * sizeof(Part) * n)));
    });
  }
}

// 128 bits are two rows of lanes of 64.
void move_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t *a = w.lanes<std::uint64_t>(i.a) + half * 32;
    put(w.lanes<std::uint64_t>(i.d) + half * 32, mask, [=](unsigned k) { return a[k]; });
  }
}
template <class Part>
constexpr unsigned parts_of_half = sizeof(std::uint64_t) / sizeof(Part);
template <class Part>
void pack_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Place32 *parts = w.frame->body->lists.data() + i.list;
  for (unsigned half = 0; half < 2; ++half) {
    alignas(64) std::uint64_t made[32] = {};
    for (unsigned n = 0; n < parts_of_half<Part>; ++n) {
      const Part *part = w.lanes<Part>(*parts++);
      EACH_LANE made[k] |= std::uint64_t{part[k]} << (8 * sizeof(Part) * n);
    }
    put(w.lanes<std::uint64_t>(i.d) + half * 32, mask, [&](unsigned k) { return made[k]; });
  }
}
template <class Part>
void unpack_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Place32 *parts = w.frame->body->lists.data() + i.list;
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t *a = w.lanes<std::uint64_t>(i.a) + half * 32;
    for (unsigned n = 0; n < parts_of_half<Part>; ++n)
      put(w.lanes<Part>(*parts++), mask,
          [=](unsigned k) { return static_cast<Part>(a[k] >> (8 * sizeof(Part) * n)); });
  }
}

// Counts at about the pace of a GPU: nanoseconds.
std::uint64_t clock_now(bool wall) {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      wall ? duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count()
           : duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

template <class T>
void read_clock(Warp &w, const Instruction &i, std::uint32_t mask) {
  const auto now = static_cast<T>(clock_now(i.flag) >> i.option);
  put(w.lanes<T>(i.d), mask, [=](unsigned) { return now; });
}

bool select_clock(Lowering &l, Type type) {
  const std::string_view name = l.operand(1).name;
  const bool high = name.ends_with("_hi"), low = name.ends_with("_lo");
  const bool global = name.starts_with("%globaltimer");
  const bool wide = name == "%clock64" || name == "%globaltimer";
  if (!wide && !high && !low && name != "%clock") return false;
  if (bits_of(type) != (wide ? 64u : 32u)) l.refuse_type(type);
  l.out.d = l.write(0, type);
  l.out.flag = global;
  l.out.option = high ? 32 : 0;
  l.out.run = wide ? read_clock<std::uint64_t> : read_clock<std::uint32_t>;
  return true;
}

Execute pack_of(unsigned bits, std::size_t parts, bool packs) {
  if (bits == 16 && parts == 2)
    return packs ? pack<std::uint16_t, std::uint8_t> : unpack<std::uint16_t, std::uint8_t>;
  if (bits == 32 && parts == 2)
    return packs ? pack<std::uint32_t, std::uint16_t> : unpack<std::uint32_t, std::uint16_t>;
  if (bits == 32 && parts == 4)
    return packs ? pack<std::uint32_t, std::uint8_t> : unpack<std::uint32_t, std::uint8_t>;
  if (bits == 64 && parts == 2)
    return packs ? pack<std::uint64_t, std::uint32_t> : unpack<std::uint64_t, std::uint32_t>;
  if (bits == 64 && parts == 4)
    return packs ? pack<std::uint64_t, std::uint16_t> : unpack<std::uint64_t, std::uint16_t>;
  if (bits == 128 && parts == 2) return packs ? pack_128<std::uint64_t> : unpack_128<std::uint64_t>;
  if (bits == 128 && parts == 4) return packs ? pack_128<std::uint32_t> : unpack_128<std::uint32_t>;
  return nullptr;
}

Type part_type(unsigned bits) {
  switch (bits) {
    case 8:
      return Type::b8;
    case 16:
      return Type::b16;
    case 32:
      return Type::b32;
    default:
      return Type::b64;
  }
}

void select_vector(Lowering &l, Type type, bool packs) {
  const Operand &vector = l.operand(packs ? 1 : 0);
  const std::size_t parts = vector.parts.size();
  l.out.run = pack_of(bits_of(type), parts, packs);
  if (!l.out.run)
    l.refuse(std::to_string(parts) + " parts do not make " + std::to_string(bits_of(type)) +
             " bits");
  const Type part = part_type(bits_of(type) / static_cast<unsigned>(parts));
  std::vector<Place32> places;
  for (const Operand &each : vector.parts)
    places.push_back(packs ? l.read(each, part) : l.write(each, part));
  l.out.list = l.add_list(places);
  if (packs)
    l.out.d = l.write(0, type);
  else
    l.out.a = l.read(1, type);
}

void select_mov(Lowering &l) {
  l.take("volatile");  // for clocks, in old texts
  const Type type = l.type();
  if (!is_movable(type) && type != Type::pred && type != Type::b128) l.refuse_type(type);
  l.expect_operands(2);
  const Operand &to = l.operand(0), &from = l.operand(1);
  if (to.kind == Operand::Kind::vector) return select_vector(l, type, false);
  if (from.kind == Operand::Kind::vector) return select_vector(l, type, true);
  if (from.kind == Operand::Kind::special && select_clock(l, type)) return;
  l.out.d = l.write(0, type);
  if (from.kind == Operand::Kind::local) {
    l.out.immediate = static_cast<std::int64_t>(l.local_offset(from.index) + from.bits);
    if (bits_of(type) == 64)
      l.out.run = move_local<std::uint64_t>;
    else if (bits_of(type) == 32)
      l.out.run = move_local<std::uint32_t>;
    else
      l.refuse_type(type);
    return;
  }
  l.out.a = l.read(1, type);
  if (type == Type::pred) {
    l.out.flag = from.negated;
    l.out.run = move_predicate;
    return;
  }
  switch (bits_of(type)) {
    case 16:
      l.out.run = move<std::uint16_t>;
      return;
    case 32:
      l.out.run = move<std::uint32_t>;
      return;
    case 64:
      l.out.run = move<std::uint64_t>;
      return;
    case 128:
      l.out.run = move_128;
      return;
    default:
      l.refuse_type(type);
  }
}

std::uint64_t base_of(Space space) {
  switch (space) {
    case Space::shared:
      return shared_base;
    case Space::local:
      return local_base;
    case Space::param:
      return param_base;
    default:
      return 0;  // addresses of global and constant memory are generic ones
  }
}

template <class T>
void add_base(Warp &w, const Instruction &i, std::uint32_t mask) {
  const T *a = w.lanes<T>(i.a);
  const auto base = static_cast<T>(i.immediate);
  put(w.lanes<T>(i.d), mask, [=](unsigned k) { return static_cast<T>(a[k] + base); });
}

std::optional<Space> take_space(Lowering &l) {
  if (l.take_any({"shared", "shared::cta"})) return Space::shared;
  if (l.take("local")) return Space::local;
  if (l.take_any({"param", "param::entry"})) return Space::param;  // the kernel's
  if (l.take("global")) return Space::global;
  if (l.take("const")) return Space::constant;
  return {};
}

void select_cvta(Lowering &l) {
  const bool to = l.take("to");
  const auto space = take_space(l);
  if (!space) l.refuse("a state space is missing");
  const Type type = l.type();
  if (type != Type::u64) l.refuse("only addresses of 64 bits are supported");
  l.expect_operands(2);
  l.out.d = l.write(0, type);
  const Operand &from = l.operand(1);
  const std::uint64_t base = base_of(*space);
  l.out.immediate = static_cast<std::int64_t>(to ? ~base + 1 : base);
  if (from.kind == Operand::Kind::local) {
    l.out.immediate += static_cast<std::int64_t>(l.local_offset(from.index) + from.bits);
    l.out.run = move_local<std::uint64_t>;
    return;
  }
  l.out.a = l.read(1, type);
  l.out.run = base ? add_base<std::uint64_t> : move<std::uint64_t>;
}

void isspacep(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint64_t *a = w.lanes<std::uint64_t>(i.a);
  const auto base = static_cast<std::uint64_t>(i.immediate);
  put_bits(w.bits(i.d), mask, mask_of([=](unsigned k) { return a[k] - base < most_of_window; }));
}

// The window of the kernel's parameters belongs to it.
void is_global(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint64_t *a = w.lanes<std::uint64_t>(i.a);
  put_bits(w.bits(i.d), mask, mask_of([=](unsigned k) {
             return a[k] < shared_base || a[k] - param_base < most_of_window;
           }));
}

void never(Warp &w, const Instruction &i, std::uint32_t mask) {
  put_bits(w.bits(i.d), mask, 0);
}

void select_isspacep(Lowering &l) {
  auto space = take_space(l);
  if (!space && l.take("shared::cluster")) space = Space::shared;
  if (!space) l.refuse("a state space is missing");
  l.bind(Type::pred, {Type::u64});
  l.out.immediate = static_cast<std::int64_t>(base_of(*space));
  // A constant variable is in global memory here: no address is known to be constant.
  l.out.run = space == Space::constant ? never : space == Space::global ? is_global : isspacep;
}

}  // namespace

bool select_move(Lowering &l) {
  if (l.root == "mov") return select_mov(l), true;
  if (l.root == "cvta") return select_cvta(l), true;
  if (l.root == "isspacep") return select_isspacep(l), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
