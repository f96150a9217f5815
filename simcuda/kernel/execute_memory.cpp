// SPDX-License-Identifier: BSD-3-Clause
// Loads, stores and atomic operations.
#include <cstring>
#include <mutex>

#include "half.h"
#include "lanes.h"
#include "real.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

// As it may lie in the bytes of a window: at any address.
template <class T>
struct [[gnu::packed]] Loose {
  T value;
};

void find_addresses(Request &r) {
  Warp &w = r.warp;
  const Instruction &i = r.instruction;
  std::uint64_t *to = r.addresses;
  std::uint64_t offset = static_cast<std::uint64_t>(i.immediate);
  if (i.flag) offset += w.frame->local_base;
  if (i.option == 64) {
    const std::uint64_t *a = aligned(w.lanes<std::uint64_t>(i.a));
    EACH_LANE to[k] = a[k] + offset;
  } else {
    const std::uint32_t *a = aligned(w.lanes<std::uint32_t>(i.a));
    EACH_LANE to[k] = static_cast<std::uint32_t>(a[k] + static_cast<std::uint32_t>(offset));
  }
  if (r.mask != all_lanes) {
    const std::uint64_t first = to[std::countr_zero(r.mask)];
    EACH_LANE to[k] = r.mask & lane_bits.bit[k] ? to[k] : first;
  }
  std::uint64_t apart = 0, ored = 0;
  const std::uint64_t begin = to[0];
  for (unsigned k = 0; k < 32; ++k) {
    apart |= to[k] ^ (begin + k * r.size);
    ored |= to[k];
  }
  r.ored = ored;
  if (apart == 0 && r.mask == all_lanes && begin + 32 * r.size > begin) {
    r.together = true;
    r.low = begin;
    r.high = begin + 31 * r.size;
    return;
  }
  // As signed numbers, which vector instructions can compare; the order does not matter.
  std::int64_t low = INT64_MAX, high = INT64_MIN;
  for (unsigned k = 0; k < 32; ++k) {
    const auto at = static_cast<std::int64_t>(to[k]);
    low = at < low ? at : low;
    high = at > high ? at : high;
  }
  r.low = static_cast<std::uint64_t>(low);
  r.high = static_cast<std::uint64_t>(high);
}

const Place32 *list_of(const Warp &w, const Instruction &i) {
  return w.frame->body->lists.data() + i.list;
}

void acquire(Warp &w) {
  w.block.acquire();
  w.polled();
}

// T is what lies in memory, R the lanes of a register.
template <class T, class R>
void load(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!mask) return;
  Request r{w, i, mask, static_cast<std::uint32_t>(sizeof(T)) * i.count, Operation::load, i.atomic};
  find_addresses(r);
  Reach found;
  w.worker.memory.reach(r, found);
  if (i.atomic) acquire(w);
  if (found.together && i.count == 1) {
    const auto *from = reinterpret_cast<const Loose<T> *>(found.at[0]);
    put(w.lanes<R>(i.d), mask, [=](unsigned k) { return static_cast<R>(from[k].value); });
    return;
  }
  if (i.count == 1) {
    R *d = w.lanes<R>(i.d);
    each_active(mask, [&](unsigned k) {
      d[k] = static_cast<R>(reinterpret_cast<const Loose<T> *>(found.at[k])->value);
    });
    return;
  }
  const Place32 *places = list_of(w, i);
  for (unsigned n = 0; n < i.count; ++n) {
    R *d = w.lanes<R>(places[n]);
    each_active(mask, [&](unsigned k) {
      const std::byte *from = found.together ? found.at[0] + k * r.size : found.at[k];
      d[k] = static_cast<R>(reinterpret_cast<const Loose<T> *>(from)[n].value);
    });
  }
}

template <class T, class R>
void store(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!mask) return;
  Request r{w,       i, mask, static_cast<std::uint32_t>(sizeof(T)) * i.count, Operation::store,
            i.atomic};
  find_addresses(r);
  const R *a = w.lanes<R>(i.d);
  alignas(64) std::byte row[32 * 32];  // what each lane writes, where that is not one register
  if (i.count == 1) {
    r.values = reinterpret_cast<const std::byte *>(a);
    r.stride = sizeof(R);
  } else {
    const Place32 *places = list_of(w, i);
    for (unsigned n = 0; n < i.count; ++n) {
      const R *from = w.lanes<R>(places[n]);
      for (unsigned k = 0; k < 32; ++k)
        reinterpret_cast<Loose<T> *>(row + k * r.size)[n].value = static_cast<T>(from[k]);
    }
    r.values = row;
    r.stride = r.size;
  }
  Reach found;
  w.worker.memory.reach(r, found);
  if (i.atomic) w.block.release();
  if (i.count == 1) {
    if (found.together) {
      auto *to = reinterpret_cast<Loose<T> *>(found.at[0]);
      EACH_LANE to[k].value = static_cast<T>(a[k]);
    } else {
      each_active(mask, [&](unsigned k) {
        reinterpret_cast<Loose<T> *>(found.at[k])->value = static_cast<T>(a[k]);
      });
    }
    return;
  }
  each_active(mask, [&](unsigned k) {
    std::byte *to = found.together ? found.at[0] + k * r.size : found.at[k];
    std::memcpy(to, row + k * r.size, r.size);
  });
}

// 128 bits are two rows of lanes.
void load_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!mask) return;
  Request r{w, i, mask, 16, Operation::load, i.atomic};
  find_addresses(r);
  Reach found;
  w.worker.memory.reach(r, found);
  std::uint64_t *d = w.lanes<std::uint64_t>(i.d);
  each_active(mask, [&](unsigned k) {
    const std::byte *from = found.together ? found.at[0] + k * 16 : found.at[k];
    std::memcpy(d + k, from, 8);
    std::memcpy(d + 32 + k, from + 8, 8);
  });
}

void store_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!mask) return;
  Request r{w, i, mask, 16, Operation::store, i.atomic};
  find_addresses(r);
  Reach found;
  w.worker.memory.reach(r, found);
  const std::uint64_t *d = w.lanes<std::uint64_t>(i.d);
  each_active(mask, [&](unsigned k) {
    std::byte *to = found.together ? found.at[0] + k * 16 : found.at[k];
    std::memcpy(to, d + k, 8);
    std::memcpy(to + 8, d + 32 + k, 8);
  });
}

// A kernel's parameters are the same for all lanes.
template <class T, class R>
void load_parameter(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!mask) return;
  const auto &bytes = w.worker.launch.launch.parameters;
  const auto offset = static_cast<std::uint64_t>(i.immediate);
  const std::uint64_t size = sizeof(T) * i.count;
  if (offset % size || offset > bytes.size() || size > bytes.size() - offset)
    return load<T, R>(w, i, mask);  // which says what is wrong
  const auto *from = reinterpret_cast<const Loose<T> *>(bytes.data() + offset);
  const Place32 *places = i.count == 1 ? &i.d : list_of(w, i);
  for (unsigned n = 0; n < i.count; ++n) {
    const auto value = static_cast<R>(from[n].value);
    put(w.lanes<R>(places[n]), mask, [=](unsigned) { return value; });
  }
}

struct Transfer {
  Execute load, store, parameter;
};

template <class T, class R>
constexpr Transfer transfer = {load<T, R>, store<T, R>, load_parameter<T, R>};

template <class T>
Transfer transfer_of(unsigned bits) {
  if (bits == 16) return transfer<T, std::conditional_t<sizeof(T) <= 2, std::uint16_t, T>>;
  if (bits == 32) return transfer<T, std::conditional_t<sizeof(T) <= 4, std::uint32_t, T>>;
  return transfer<T, std::uint64_t>;
}

Transfer transfer_of(Type type, unsigned bits) {
  switch (type) {
    case Type::b8:
    case Type::u8:
      return transfer_of<std::uint8_t>(bits);
    case Type::s8:
      return transfer_of<std::int8_t>(bits);
    case Type::b16:
    case Type::f16:
    case Type::bf16:
    case Type::u16:
      return transfer_of<std::uint16_t>(bits);
    case Type::s16:
      return transfer_of<std::int16_t>(bits);
    case Type::b32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::u32:
      return transfer_of<std::uint32_t>(bits);
    case Type::s32:
      return transfer_of<std::int32_t>(bits);
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return transfer_of<std::uint64_t>(bits);
    default:
      return {};
  }
}

std::optional<Space> take_space(Lowering &l) {
  if (l.take("global")) return Space::global;
  if (l.take_any({"shared", "shared::cta"})) return Space::shared;
  if (l.take("local")) return Space::local;
  if (l.take_any({"param", "param::entry", "param::func"})) return Space::param;
  if (l.take("const")) return Space::constant;
  return {};
}

// Hints of all kinds. True: the operation is strong.
bool take_hints(Lowering &l) {
  const bool strong = l.take_any({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"});
  l.take("weak");
  l.take_any({"cta", "gpu", "sys", "cluster"});
  l.take_any({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  l.take("nc");
  l.take("unified");
  for (auto name = l.next(); name; name = l.next()) {
    // They stand before the type, so that whatever else comes is left to who looks for that.
    bool hint = false;
    for (std::string_view each :
         {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
          "L1::no_allocate", "L2::evict_normal", "L2::evict_first", "L2::evict_last",
          "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"})
      hint |= l.take(each);
    if (!hint) break;
  }
  return strong;
}

unsigned take_vector(Lowering &l) {
  return l.take("v2") ? 2 : l.take("v4") ? 4 : l.take("v8") ? 8 : 1;
}

void select_transfer(Lowering &l, bool is_load) {
  const auto space = take_space(l);
  l.out.atomic = take_hints(l);
  const unsigned count = take_vector(l);
  take_hints(l);  // hints may stand behind the vector
  const Type type = l.type();
  const std::size_t address = is_load ? 1 : 0, value = is_load ? 0 : 1;
  l.expect_operands(2, 3);  // the third is a cache's policy
  l.out.count = static_cast<std::uint8_t>(count);
  if (bytes_of(type) * count > 32) l.refuse("a vector has at most 32 bytes");
  const Operand &operand = l.operand(value);
  if ((operand.kind == Operand::Kind::vector) != (count > 1) || operand.parts.size() > count)
    l.refuse("a vector of " + std::to_string(count) + " is expected");
  l.bind_address(address, space.value_or(Space::generic));
  if (type == Type::b128) {
    if (count != 1) l.refuse_type(type);
    l.out.d = is_load ? l.write(operand, type) : l.read(operand, type);
    l.out.run = is_load ? load_128 : store_128;
    return;
  }
  unsigned bits = 0;
  const auto bind = [&](const Operand &each) {
    unsigned its_bits = 0;
    if (is_load && each.kind == Operand::Kind::sink) return l.scratch();
    const Place32 place =
        is_load ? l.write_wide(each, type, its_bits) : l.read_wide(each, type, its_bits);
    if (its_bits > 64) l.refuse("a register of 128 bits does not fit");
    if (each.kind == Operand::Kind::reg) {
      if (bits && bits != its_bits) l.refuse("the registers of a vector have different widths");
      bits = its_bits;
    } else if (!bits) {
      bits = its_bits;
    }
    return place;
  };
  if (count == 1) {
    l.out.d = bind(operand);
  } else {
    if (operand.parts.size() != count)
      l.refuse("a vector of " + std::to_string(count) + " is expected");
    // Registers first: they say how wide a constant's lanes are.
    std::vector<Place32> places(count);
    for (bool registers : {true, false})
      for (unsigned n = 0; n < count; ++n)
        if ((operand.parts[n].kind == Operand::Kind::reg) == registers)
          places[n] = bind(operand.parts[n]);
    for (const Operand &part : operand.parts)
      if (part.kind != Operand::Kind::reg && part.kind != Operand::Kind::sink && bits &&
          bits != std::max(16u, bits_of(type)))
        l.refuse("a number does not go with registers that are wider than the type");
    l.out.list = l.add_list(places);
  }
  if (!bits) bits = std::max(16u, bits_of(type));
  const Transfer made = transfer_of(type, bits);
  l.out.run = is_load ? made.load : made.store;
  const Operand &where = l.operand(address);
  if (is_load && l.out.space == Space::param &&
      (where.parts.empty() || where.parts[0].kind == Operand::Kind::parameter))
    l.out.run = made.parameter;
  if (!l.out.run) l.refuse_type(type);
}

// Atomic operations. What other processors do to the same bytes at the same time counts, too.
enum class Op : std::uint8_t { and_, or_, xor_, exch, cas, add, inc, dec, min, max };

template <Op op, class T>
T applied(T old, T b) {
  using U =
      std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  if constexpr (op == Op::and_) return static_cast<T>(old & b);
  if constexpr (op == Op::or_) return static_cast<T>(old | b);
  if constexpr (op == Op::xor_) return static_cast<T>(old ^ b);
  if constexpr (op == Op::exch) return b;
  if constexpr (op == Op::add) {
    if constexpr (std::is_same_v<T, float>) return canonical(old + b);
    return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
  }
  if constexpr (op == Op::inc) return old >= b ? T{} : static_cast<T>(old + 1);
  if constexpr (op == Op::dec) return old == 0 || old > b ? b : static_cast<T>(old - 1);
  if constexpr (op == Op::min) return b < old ? b : old;
  if constexpr (op == Op::max) return old < b ? b : old;
  return old;
}

enum class HalfKind : std::uint8_t { f16, bf16 };

template <Op op, HalfKind kind>
struct HalfOf {
  std::uint16_t bits;
};

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

void order_atomic(Warp &w) {
  acquire(w);
  w.block.release();
}

// The lanes one after the other, `count` values each.
template <class Bits, class F>
void atomic_lanes(Warp &w, const Instruction &i, std::uint32_t mask, F f) {
  if (!mask) return;
  Request r{w,   i, mask, static_cast<std::uint32_t>(sizeof(Bits)) * i.count, Operation::atomic,
            true};
  find_addresses(r);
  r.together = false;  // pointers for each lane are wanted
  Reach found;
  w.worker.memory.reach(r, found);
  order_atomic(w);
  for (unsigned n = 0; n < i.count; ++n) {
    const Place32 *places = list_of(w, i);
    const Bits *b = w.lanes<Bits>(i.count == 1 ? i.b : places[n]);
    Bits *d = i.count == 1 ? w.lanes<Bits>(i.d) : w.lanes<Bits>(places[i.count + n]);
    each_active(mask, [&](unsigned k) {
      const Bits value = b[k];
      const Bits old = exchange<Bits>(found.at[k] + n * sizeof(Bits),
                                      [&](Bits before) { return f(before, value, k); });
      d[k] = old;
    });
  }
}

template <Op op, class T>
void atomic(Warp &w, const Instruction &i, std::uint32_t mask) {
  using Bits = typename BitsOf<T>::type;
  atomic_lanes<Bits>(w, i, mask, [](Bits old, Bits b, unsigned) {
    return std::bit_cast<Bits>(applied<op>(std::bit_cast<T>(old), std::bit_cast<T>(b)));
  });
}

template <Op op, HalfKind kind>
void atomic_half(Warp &w, const Instruction &i, std::uint32_t mask) {
  atomic_lanes<std::uint16_t>(w, i, mask, [](std::uint16_t old, std::uint16_t b, unsigned) {
    return applied_half<op, kind>(old, b);
  });
}

template <Op op, HalfKind kind>
void atomic_pair(Warp &w, const Instruction &i, std::uint32_t mask) {
  atomic_lanes<std::uint32_t>(w, i, mask, [](std::uint32_t old, std::uint32_t b, unsigned) {
    return applied_pair<op, kind>(old, b);
  });
}

template <class Bits>
void atomic_cas(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Bits *c = w.lanes<Bits>(i.c);
  atomic_lanes<Bits>(w, i, mask,
                     [=](Bits old, Bits b, unsigned k) { return old == b ? c[k] : old; });
}

// 128 bits: no processor of ours is asked to do that at once.
template <bool compare>
void atomic_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  static std::mutex mutex;
  if (!mask) return;
  Request r{w, i, mask, 16, Operation::atomic, true};
  find_addresses(r);
  r.together = false;
  Reach found;
  w.worker.memory.reach(r, found);
  order_atomic(w);
  const std::uint64_t *b = w.lanes<std::uint64_t>(i.b),
                      *c = w.lanes<std::uint64_t>(compare ? i.c : i.b);
  std::uint64_t *d = w.lanes<std::uint64_t>(i.d);
  std::lock_guard lock(mutex);
  each_active(mask, [&](unsigned k) {
    std::uint64_t old[2];
    std::memcpy(old, found.at[k], 16);
    if (!compare || (old[0] == b[k] && old[1] == b[32 + k])) {
      const std::uint64_t fresh[2] = {c[k], c[32 + k]};
      std::memcpy(found.at[k], fresh, 16);
    }
    d[k] = old[0];
    d[32 + k] = old[1];
  });
}

template <Op op>
Execute atomic_of_bits(Type type) {
  if (bits_of(type) == 32 && !is_real(type)) return atomic<op, std::uint32_t>;
  if (bits_of(type) == 64 && !is_real(type)) return atomic<op, std::uint64_t>;
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
    case Type::bf16x2:
      return atomic_pair<op, HalfKind::bf16>;
    default:
      return nullptr;
  }
}

Execute atomic_of(Op op, Type type) {
  switch (op) {
    case Op::and_:
      return is_bits(type) ? atomic_of_bits<Op::and_>(type) : nullptr;
    case Op::or_:
      return is_bits(type) ? atomic_of_bits<Op::or_>(type) : nullptr;
    case Op::xor_:
      return is_bits(type) ? atomic_of_bits<Op::xor_>(type) : nullptr;
    case Op::exch:
      if (type == Type::b128) return atomic_128<false>;
      return is_bits(type) ? atomic_of_bits<Op::exch>(type) : nullptr;
    case Op::cas:
      if (type == Type::b16) return atomic_cas<std::uint16_t>;
      if (type == Type::b32) return atomic_cas<std::uint32_t>;
      if (type == Type::b64) return atomic_cas<std::uint64_t>;
      if (type == Type::b128) return atomic_128<true>;
      return nullptr;
    case Op::add:
      if (type == Type::f32) return atomic<Op::add, float>;
      if (type == Type::f64) return atomic<Op::add, double>;
      if (Execute run = atomic_of_halves<Op::add>(type)) return run;
      return atomic_of_integers<Op::add>(type);
    case Op::inc:
      return type == Type::u32 ? atomic<Op::inc, std::uint32_t> : nullptr;
    case Op::dec:
      return type == Type::u32 ? atomic<Op::dec, std::uint32_t> : nullptr;
    case Op::min:
      if (Execute run = atomic_of_halves<Op::min>(type)) return run;
      return atomic_of_integers<Op::min>(type);
    case Op::max:
      if (Execute run = atomic_of_halves<Op::max>(type)) return run;
      return atomic_of_integers<Op::max>(type);
  }
  return nullptr;
}

void select_atomic(Lowering &l, bool returns) {
  if (l.take("async")) l.refuse("red.async is not supported");
  const auto space = take_space(l);
  if (space && *space != Space::global && *space != Space::shared)
    l.refuse("atomic operations are for global and shared memory");
  take_hints(l);
  static constexpr std::pair<std::string_view, Op> names[] = {
      {"and", Op::and_}, {"or", Op::or_},  {"xor", Op::xor_}, {"exch", Op::exch}, {"cas", Op::cas},
      {"add", Op::add},  {"inc", Op::inc}, {"dec", Op::dec},  {"min", Op::min},   {"max", Op::max}};
  std::optional<Op> op;
  for (auto &[name, its] : names)
    if (l.take(name)) op = its;
  if (!op) l.refuse("the operation is missing, or not known");
  l.take("noftz");
  const unsigned count = take_vector(l);
  take_hints(l);
  const Type type = l.type();
  l.out.count = static_cast<std::uint8_t>(count);
  const std::size_t address = returns ? 1 : 0;
  const std::size_t values = *op == Op::cas ? 2 : 1;
  l.expect_operands(address + 1 + values, address + 2 + values);
  l.bind_address(address, space.value_or(Space::generic));
  if (count == 1) {
    l.out.d = returns ? l.write(0, type) : l.scratch();
    l.out.b = l.read(address + 1, type);
    if (*op == Op::cas) l.out.c = l.read(address + 2, type);
  } else {
    if (*op == Op::cas || *op == Op::exch || bytes_of(type) * count > 16) l.refuse_type(type);
    std::vector<Place32> places;
    const Operand &from = l.operand(address + 1);
    if (from.parts.size() != count || (returns && l.operand(0).parts.size() != count))
      l.refuse("a vector of " + std::to_string(count) + " is expected");
    for (const Operand &part : from.parts) places.push_back(l.read(part, type));
    for (unsigned n = 0; n < count; ++n)
      places.push_back(returns ? l.write(l.operand(0).parts[n], type) : l.scratch());
    l.out.list = l.add_list(places);
  }
  l.out.run = atomic_of(*op, type);
  if (!l.out.run) l.refuse_type(type);
}

void nothing(Warp &, const Instruction &, std::uint32_t) {}

// cp.async is done at once: whoever waits for it finds it done.
void copy_async(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!mask) return;
  Instruction from = i;
  from.a = i.b;
  from.immediate = static_cast<std::int32_t>(i.e);
  from.space = Space::global;
  from.option = i.option2;
  from.cache = i.cache - 1;  // bound just before
  from.flag = false;
  std::uint32_t copied[32];
  const std::uint32_t *sizes = i.atomic ? w.lanes<std::uint32_t>(i.c) : nullptr;
  std::uint32_t reading = 0;
  for (unsigned k = 0; k < 32; ++k) {
    copied[k] = sizes ? std::min<std::uint32_t>(sizes[k], i.size) : i.size;
    if (copied[k]) reading |= 1u << k;
  }
  reading &= mask;
  alignas(64) std::byte row[32 * 16] = {};
  if (reading) {
    Request r{w, from, reading, i.size, Operation::load, false};
    find_addresses(r);
    r.together = false;
    Reach found;
    w.worker.memory.reach(r, found);
    each_active(reading,
                [&](unsigned k) { std::memcpy(row + k * i.size, found.at[k], copied[k]); });
  }
  Request r{w, i, mask, i.size, Operation::store, false};
  r.values = row;
  r.stride = i.size;
  find_addresses(r);
  r.together = false;
  Reach found;
  w.worker.memory.reach(r, found);
  each_active(mask, [&](unsigned k) { std::memcpy(found.at[k], row + k * i.size, i.size); });
}

void select_copy(Lowering &l) {
  if (!l.take("async")) l.refuse("only cp.async is supported");
  for (std::string_view name : {"bulk", "mbarrier", "reduce"})
    if (l.has(name))
      l.refuse("." + std::string(name) + " is not supported: TMA and mbarriers are not");
  if (l.take_any({"commit_group", "wait_group", "wait_all"})) {
    l.expect_operands(0, 1);
    l.out.run = nothing;
    return;
  }
  l.take_any({"ca", "cg"});
  if (!l.take_any({"shared", "shared::cta"}) || !l.take("global"))
    l.refuse("only from global to shared memory");
  take_hints(l);
  l.expect_operands(3, 5);
  l.bind_address(1, Space::global);
  l.out.b = l.out.a;
  l.out.option2 = l.out.option;
  if (l.out.immediate != static_cast<std::int32_t>(l.out.immediate))
    l.refuse("an offset is too large");
  l.out.e = static_cast<std::uint32_t>(l.out.immediate);
  l.bind_address(0, Space::shared);
  const Operand &size = l.operand(2);
  if (size.kind != Operand::Kind::integer || (size.bits != 4 && size.bits != 8 && size.bits != 16))
    l.refuse("4, 8 or 16 bytes are copied");
  l.out.size = static_cast<std::uint8_t>(size.bits);
  l.out.count = 1;
  if (l.operands() > 3 && l.operand(3).kind != Operand::Kind::reg &&
      l.operand(3).kind != Operand::Kind::integer)
    l.refuse("the size of the source is a register or a number");
  if (l.operands() > 3) {
    const Operand &read = l.operand(3);
    if (read.kind == Operand::Kind::reg && l.function().registers[read.index].type == Type::pred)
      l.refuse("a predicate that ignores the source is not supported");
    if (read.kind == Operand::Kind::integer ||
        bits_of(l.function().registers[read.index].type) == 32) {
      l.out.c = l.read(3, Type::b32);
      l.out.atomic = true;
    }
  }
  l.out.run = copy_async;
}

void zero_64(Warp &w, const Instruction &i, std::uint32_t mask) {
  put(w.lanes<std::uint64_t>(i.d), mask, [](unsigned) { return std::uint64_t{0}; });
}

void take_all(Lowering &l) {
  while (l.next()) l.take_next();
}

}  // namespace

bool select_memory(Lowering &l) {
  const std::string_view root = l.root;
  if (root == "ld" || root == "ldu") return select_transfer(l, true), true;
  if (root == "st") return select_transfer(l, false), true;
  if (root == "atom") return select_atomic(l, true), true;
  if (root == "red") return select_atomic(l, false), true;
  if (root == "cp") return select_copy(l), true;
  if (root == "prefetch" || root == "prefetchu" || root == "applypriority" || root == "discard") {
    // Hints: what memory holds after a discard is not defined, and may be what it held.
    if (l.has("tensormap")) l.refuse("TMA is not supported");
    take_all(l);
    l.out.run = nothing;
    return true;
  }
  if (root == "createpolicy") {
    take_all(l);
    l.out.d = l.write(0, Type::b64);
    l.out.run = zero_64;
    return true;
  }
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
