// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations.
#include <cstring>
#include <mutex>

#include "addresses.h"
#include "half.h"
#include "real.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

// Atomic with respect to other processors, too.
enum class Op : std::uint8_t { and_, or_, xor_, exch, cas, add, inc, dec, min, max };

template <Op op, class T>
T applied(T old, T b) {
  using U =
      std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  if constexpr (op == Op::and_) return static_cast<T>(old & b);
  if constexpr (op == Op::or_) return static_cast<T>(old | b);
  if constexpr (op == Op::xor_) return static_cast<T>(old ^ b);
  if constexpr (op == Op::exch) return b;
  if constexpr (op == Op::add) return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
  if constexpr (op == Op::inc) return old >= b ? T{} : static_cast<T>(old + 1);
  if constexpr (op == Op::dec) return old == 0 || old > b ? b : static_cast<T>(old - 1);
  if constexpr (op == Op::min) return b < old ? b : old;
  if constexpr (op == Op::max) return old < b ? b : old;
  return old;
}

enum class HalfKind : std::uint8_t { f16, bf16 };

template <Op op, HalfKind kind>
std::uint16_t applied_half(std::uint16_t old, std::uint16_t b) {
  const auto value = [](std::uint16_t half) {
    return static_cast<double>(kind == HalfKind::f16 ? half_to_float(half) : bhalf_to_float(half));
  };
  const double x = value(old), y = value(b);
  if constexpr (op == Op::add) {
    return kind == HalfKind::f16 ? to_half(x + y) : to_bhalf(x + y);
  } else {
    if (x != x) return y != y ? 0x7FFF : b;
    if (y != y) return old;
    return (op == Op::min ? y < x : x < y) ? b : old;
  }
}

// The same for both halves of a register.
template <Op op, HalfKind kind>
std::uint32_t applied_pair(std::uint32_t old, std::uint32_t b) {
  const auto low =
      applied_half<op, kind>(static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
  const auto high = applied_half<op, kind>(static_cast<std::uint16_t>(old >> 16),
                                           static_cast<std::uint16_t>(b >> 16));
  return low | static_cast<std::uint32_t>(high) << 16;
}

template <class Bits, class F>
Bits exchange(std::byte *at, F f) {
  auto *place = reinterpret_cast<Bits *>(at);
  Bits old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(place, &old, f(old), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

template <class T>
struct BitsOf {
  using type = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
};

// Where the operation is done. `changed`: the lanes that changed the value. A failed attempt to
// take a lock orders nothing.
void order_atomic(const Request &r, std::uint32_t changed) {
  r.warp.block.order(r, changed);
  r.warp.block.acquire();
  r.warp.polled();
}

// The lanes one after the other, `count` values each: f(old value, lane's, lane, its memory).
template <class Bits, class F>
void atomic_lanes(Warp &w, const Instruction &i, std::uint32_t mask, F f) {
  Request r{w,   i, mask, static_cast<std::uint32_t>(sizeof(Bits)) * i.count, Operation::atomic,
            true};
  find_addresses(r);
  r.together = false;  // a pointer for each lane is needed
  Reach found;
  w.worker.memory.reach(r, found);
  w.block.release();
  std::uint32_t changed = 0;
  for (unsigned n = 0; n < i.count; ++n) {
    const Place32 *places = list_of(w, i);
    const Bits *b = w.lanes<Bits>(i.count == 1 ? i.b : places[n]);
    Bits *d = i.count == 1 ? w.lanes<Bits>(i.d) : w.lanes<Bits>(places[i.count + n]);
    each_active(mask, [&](unsigned k) {
      const Bits value = b[k];
      std::byte *const at = found.at[k] + n * sizeof(Bits);
      const Bits old = exchange<Bits>(at, [&](Bits before) { return f(before, value, k, at); });
      changed |= std::uint32_t{f(old, value, k, at) != old} << k;
      d[k] = old;
    });
  }
  order_atomic(r, changed);
}

template <Op op, class T>
void atomic(Warp &w, const Instruction &i, std::uint32_t mask) {
  using Bits = typename BitsOf<T>::type;
  atomic_lanes<Bits>(w, i, mask, [](Bits old, Bits b, unsigned, const std::byte *) {
    return std::bit_cast<Bits>(applied<op>(std::bit_cast<T>(old), std::bit_cast<T>(b)));
  });
}

template <Op op, HalfKind kind>
void atomic_half(Warp &w, const Instruction &i, std::uint32_t mask) {
  atomic_lanes<std::uint16_t>(w, i, mask,
                              [](std::uint16_t old, std::uint16_t b, unsigned, const std::byte *) {
                                return applied_half<op, kind>(old, b);
                              });
}

template <Op op, HalfKind kind>
void atomic_pair(Warp &w, const Instruction &i, std::uint32_t mask) {
  atomic_lanes<std::uint32_t>(w, i, mask,
                              [](std::uint32_t old, std::uint32_t b, unsigned, const std::byte *) {
                                return applied_pair<op, kind>(old, b);
                              });
}

// Subnormal numbers are zero in global memory, and not in shared memory.
void add_singles(Warp &w, const Instruction &i, std::uint32_t mask) {
  const auto shared = reinterpret_cast<std::uintptr_t>(w.block.shared.data());
  const std::size_t room = w.block.shared.size();
  atomic_lanes<std::uint32_t>(
      w, i, mask, [=](std::uint32_t old, std::uint32_t b, unsigned, const std::byte *at) {
        const bool flushes = reinterpret_cast<std::uintptr_t>(at) - shared >= room;
        const auto value = [=](float x) { return flushes ? flushed(x) : x; };
        return bits_of_float(canonical(value(value(float_of(old)) + value(float_of(b)))));
      });
}

template <class Bits>
void atomic_cas(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Bits *c = w.lanes<Bits>(i.c);
  atomic_lanes<Bits>(w, i, mask, [=](Bits old, Bits b, unsigned k, const std::byte *) {
    return old == b ? c[k] : old;
  });
}

// 128 bits: not every processor can do this in one operation.
template <bool compare>
void atomic_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  static std::mutex mutex;
  Request r{w, i, mask, 16, Operation::atomic, true};
  find_addresses(r);
  r.together = false;
  Reach found;
  w.worker.memory.reach(r, found);
  const std::uint64_t *b = w.lanes<std::uint64_t>(i.b),
                      *c = w.lanes<std::uint64_t>(compare ? i.c : i.b);
  std::uint64_t *d = w.lanes<std::uint64_t>(i.d);
  w.block.release();
  std::uint32_t changed = 0;
  {
    std::lock_guard lock(mutex);
    each_active(mask, [&](unsigned k) {
      std::uint64_t old[2];
      std::memcpy(old, found.at[k], 16);
      if (!compare || (old[0] == b[k] && old[1] == b[32 + k])) {
        const std::uint64_t fresh[2] = {c[k], c[32 + k]};
        std::memcpy(found.at[k], fresh, 16);
        changed |= std::uint32_t{std::memcmp(old, fresh, 16) != 0} << k;
      }
      d[k] = old[0];
      d[32 + k] = old[1];
    });
  }
  order_atomic(r, changed);
}

template <Op op>
Execute atomic_of_bits(Type type) {
  if (type == Type::b32) return atomic<op, std::uint32_t>;
  if (type == Type::b64) return atomic<op, std::uint64_t>;
  return nullptr;
}

template <Op op>
Execute atomic_of_integers(Type type) {
  switch (type) {
    case Type::u32:
      return atomic<op, std::uint32_t>;
    case Type::s32:
      return atomic<op, std::int32_t>;
    case Type::u64:
      return atomic<op, std::uint64_t>;
    case Type::s64:
      return atomic<op, std::int64_t>;
    default:
      return nullptr;
  }
}

template <Op op>
Execute atomic_of_halves(Type type) {
  switch (type) {
    case Type::f16:
      return atomic_half<op, HalfKind::f16>;
    case Type::bf16:
      return atomic_half<op, HalfKind::bf16>;
    case Type::f16x2:
      return atomic_pair<op, HalfKind::f16>;
    default:
      return atomic_pair<op, HalfKind::bf16>;
  }
}

Execute atomic_of(Op op, Type type) {
  switch (op) {
    case Op::and_:
      return atomic_of_bits<Op::and_>(type);
    case Op::or_:
      return atomic_of_bits<Op::or_>(type);
    case Op::xor_:
      return atomic_of_bits<Op::xor_>(type);
    case Op::exch:
      if (type == Type::b128) return atomic_128<false>;
      return atomic_of_bits<Op::exch>(type);
    case Op::cas:
      if (type == Type::b16) return atomic_cas<std::uint16_t>;
      if (type == Type::b32) return atomic_cas<std::uint32_t>;
      if (type == Type::b64) return atomic_cas<std::uint64_t>;
      if (type == Type::b128) return atomic_128<true>;
      return nullptr;
    case Op::add:
      if (type == Type::f32) return add_singles;
      if (type == Type::f64) return atomic<Op::add, double>;
      if (is_half(type)) return atomic_of_halves<Op::add>(type);
      // Of s64 PTX has none: that of u64 does the same.
      return type == Type::s64 ? nullptr : atomic_of_integers<Op::add>(type);
    case Op::inc:
      return type == Type::u32 ? atomic<Op::inc, std::uint32_t> : nullptr;
    case Op::dec:
      return type == Type::u32 ? atomic<Op::dec, std::uint32_t> : nullptr;
    case Op::min:
      return is_half(type) ? atomic_of_halves<Op::min>(type) : atomic_of_integers<Op::min>(type);
    case Op::max:
      return is_half(type) ? atomic_of_halves<Op::max>(type) : atomic_of_integers<Op::max>(type);
  }
  return nullptr;
}

// Vectors are of halves, pairs of them, or sums of f32, and have 16 bytes at most.
bool may_be_vector(Op op, Type type) {
  if (type == Type::f32) return op == Op::add;
  return is_half(type) && (op == Op::add || op == Op::min || op == Op::max);
}

void select_operation(Lowering &l, bool returns) {
  const auto space = take_space(l);
  const bool policy = has_policy(l);
  if (space && *space != Space::global && *space != Space::shared)
    l.refuse("atomic operations are for global and shared memory");
  if (space != Space::shared) l.body().independent_blocks = false;
  take_hints(l);
  static constexpr std::pair<std::string_view, Op> names[] = {
      {"and", Op::and_}, {"or", Op::or_},  {"xor", Op::xor_}, {"exch", Op::exch}, {"cas", Op::cas},
      {"add", Op::add},  {"inc", Op::inc}, {"dec", Op::dec},  {"min", Op::min},   {"max", Op::max}};
  std::optional<Op> op;
  for (auto &[name, its] : names)
    if (l.take(name)) op = its;
  if (!op) l.refuse("the operation is missing, or not known");
  if (!returns && (*op == Op::exch || *op == Op::cas)) l.refuse("it has a result");
  if (!returns && l.out.acquires) l.refuse("it cannot acquire");
  const bool noftz = l.take("noftz");
  const unsigned count = take_vector(l);
  take_hints(l);
  const Type type = l.type();
  if (noftz != is_half(type)) l.refuse(".noftz is with halves, and must be there");
  l.out.count = static_cast<std::uint8_t>(count);
  const std::size_t address = returns ? 1 : 0;
  const std::size_t values = *op == Op::cas ? 2 : 1;
  expect_operands(l, address + 1 + values, address + 1 + values, policy);
  l.bind_address(address, space.value_or(Space::generic));
  if (count == 1) {
    if (is_half(type) && *op != Op::add) l.refuse("it is only of vectors");
    l.out.d = returns ? l.write(0, type) : l.scratch();
    l.out.b = l.read(address + 1, type);
    if (*op == Op::cas) l.out.c = l.read(address + 2, type);
  } else {
    if (space == Space::shared) l.refuse("vectors are not in shared memory");
    if (!may_be_vector(*op, type) || bytes_of(type) * count > 16) l.refuse_type(type);
    std::vector<Place32> places;
    const Operand &from = l.operand(address + 1);
    if (from.parts.size() != count || (returns && l.operand(0).parts.size() != count))
      l.refuse("a vector of " + std::to_string(count) + " is expected");
    for (const Operand &part : from.parts) places.push_back(l.read(part, type));
    for (unsigned n = 0; n < count; ++n)
      places.push_back(returns ? l.write(l.operand(0).parts[n], type) : l.scratch());
    l.out.list = l.add_list(places);
  }
  l.out.unseen = !returns || l.unused(l.operand(0));
  l.out.overwrites = *op == Op::exch && l.out.unseen;
  l.out.run = atomic_of(*op, type);
  if (!l.out.run) l.refuse_type(type);
}

}  // namespace

bool select_atomic(Lowering &l) {
  if (l.root != "atom" && l.root != "red") return false;
  select_operation(l, l.root == "atom");
  return true;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
