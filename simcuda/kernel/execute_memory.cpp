// SPDX-License-Identifier: BSD-3-Clause
// Loads, stores and copies.
#include <cstring>

#include "addresses.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

// A value as it lies in a window: at any alignment.
template <class T>
struct [[gnu::packed]] Loose {
  T value;
};

// T is the type in memory, R the lanes of a register.
template <class T, class R>
void load(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r{w, i, mask, static_cast<std::uint32_t>(sizeof(T)) * i.count, Operation::load, i.atomic};
  find_addresses(r);
  Reach found;
  w.worker.memory.reach(r, found);
  if (i.atomic) acquire(r);
  if (i.atomic && i.count == 1) {  // other threads may store there
    R *d = w.lanes<R>(i.d);
    each_active(mask, [&](unsigned k) {
      const std::byte *from = found.together ? found.at[0] + k * r.size : found.at[k];
      d[k] = static_cast<R>(__atomic_load_n(reinterpret_cast<const T *>(from), __ATOMIC_ACQUIRE));
    });
    return;
  }
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
  Request r{w,       i, mask, static_cast<std::uint32_t>(sizeof(T)) * i.count, Operation::store,
            i.atomic};
  find_addresses(r);
  const R *a = w.lanes<R>(i.d);
  alignas(64) std::byte row[32 * 32];  // what each lane writes, if that is not one register
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
  if (i.atomic) release(r);
  if (i.atomic && i.count == 1) {
    each_active(mask, [&](unsigned k) {
      std::byte *to = found.together ? found.at[0] + k * r.size : found.at[k];
      __atomic_store_n(reinterpret_cast<T *>(to), static_cast<T>(a[k]), __ATOMIC_RELEASE);
    });
    return;
  }
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
  Request r{w, i, mask, 16, Operation::load, i.atomic};
  find_addresses(r);
  Reach found;
  w.worker.memory.reach(r, found);
  if (i.atomic) acquire(r);
  std::uint64_t *d = w.lanes<std::uint64_t>(i.d);
  each_active(mask, [&](unsigned k) {
    const std::byte *from = found.together ? found.at[0] + k * 16 : found.at[k];
    std::memcpy(d + k, from, 8);
    std::memcpy(d + 32 + k, from + 8, 8);
  });
}

void store_128(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r{w, i, mask, 16, Operation::store, i.atomic};
  find_addresses(r);
  Reach found;
  w.worker.memory.reach(r, found);
  if (i.atomic) release(r);
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
  const auto &bytes = w.worker.launch.launch.parameters;
  const auto offset = static_cast<std::uint64_t>(i.immediate);
  const std::uint64_t size = sizeof(T) * i.count;
  if (offset % size || offset > bytes.size() || size > bytes.size() - offset)
    return load<T, R>(w, i, mask);  // which reports the error
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
    case Type::u16:
      return transfer_of<std::uint16_t>(bits);
    case Type::s16:
      return transfer_of<std::int16_t>(bits);
    case Type::b32:
    case Type::f32:
    case Type::u32:
      return transfer_of<std::uint32_t>(bits);
    case Type::s32:
      return transfer_of<std::int32_t>(bits);
    default:
      return transfer_of<std::uint64_t>(bits);
  }
}

void select_transfer(Lowering &l, bool is_load) {
  const auto space = take_space(l);
  const bool again = l.has("cv");  // caches are not simulated
  const bool policy = has_policy(l);
  l.out.atomic = take_hints(l);
  if ((again || l.out.atomic) && space.value_or(Space::generic) != Space::shared)
    l.body().independent_blocks = false;
  const unsigned count = take_vector(l);
  take_hints(l);  // hints may follow the vector
  const Type type = l.type();
  if (!is_movable(type) && type != Type::b128) l.refuse_type(type);
  if (!is_load && space == Space::constant) l.refuse("constant memory is not written");
  if (is_load ? l.out.releases : l.out.acquires) l.refuse("a load acquires, a store releases");
  if (l.out.atomic && (space == Space::param || space == Space::constant))
    l.refuse("parameters and constants are read by .weak loads");
  const std::size_t address = is_load ? 1 : 0, value = is_load ? 0 : 1;
  expect_operands(l, 2, 2, policy);
  l.out.count = static_cast<std::uint8_t>(count);
  if (bytes_of(type) * count > 32) l.refuse("a vector has at most 32 bytes");
  const Operand &operand = l.operand(value);
  if ((operand.kind == Operand::Kind::vector) != (count > 1) ||
      (count > 1 && operand.parts.size() != count))
    l.refuse("a vector of " + std::to_string(count) + " is expected");
  l.bind_address(address, space.value_or(Space::generic));
  const Operand &where = l.operand(address);
  if (where.parts.empty() && space != Space::local)
    l.refuse("a number is an address only of local memory");
  if (type == Type::b128) {
    if (count != 1) l.refuse("there is no vector of .b128");
    l.out.d = is_load ? l.write(operand, type) : l.read(operand, type);
    l.out.run = is_load ? load_128 : store_128;
    return;
  }
  unsigned bits = 0;
  const auto bind = [&](const Operand &each) {
    unsigned its_bits = 0;
    if (is_load && each.kind == Operand::Kind::sink) return l.scratch();
    // A number is as wide as the registers beside it.
    if (!is_load && bits > bits_of(type) &&
        (type == Type::f32 ? each.kind == Operand::Kind::single
                           : each.kind == Operand::Kind::integer))
      return l.constant(each.bits, bits);
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
    // Registers first: they determine the width of a number's lanes.
    std::vector<Place32> places(count);
    for (bool registers : {true, false})
      for (unsigned n = 0; n < count; ++n)
        if ((operand.parts[n].kind == Operand::Kind::reg) == registers)
          places[n] = bind(operand.parts[n]);
    for (const Operand &part : operand.parts)
      if (part.kind == Operand::Kind::real && bits != bits_of(type))
        l.refuse("a number does not go with registers that are wider than the type");
    l.out.list = l.add_list(places);
  }
  if (!bits) l.refuse("at least one register is loaded");
  const Transfer made = transfer_of(type, bits);
  l.out.run = is_load ? made.load : made.store;
  if (is_load && l.out.space == Space::param && where.parts[0].kind == Operand::Kind::parameter)
    l.out.run = made.parameter;
}

void nothing(Warp &, const Instruction &, std::uint32_t) {}

// How much of its source a copy reads; zeros fill the rest.
enum class Source : std::uint8_t { whole, sized, ignored_if };

template <Source source>
void find_sizes(const Warp &w, const Instruction &i, std::uint32_t (&sizes)[lanes_of_warp]) {
  for (unsigned k = 0; k < lanes_of_warp; ++k) {
    sizes[k] = i.size;
    if constexpr (source == Source::sized)
      sizes[k] = std::min<std::uint32_t>(w.lanes<std::uint32_t>(i.c)[k], i.size);
    if constexpr (source == Source::ignored_if)
      if ((w.bits(i.c) ^ (i.atomic ? ~0u : 0)) & lane_bits.bit[k]) sizes[k] = 0;
  }
}

// Done at once. Only the check of races knows what has not been waited for.
template <Source source>
void copy_async(Warp &w, const Instruction &i, std::uint32_t mask) {
  Instruction from = i;
  from.a = i.b;
  from.immediate = static_cast<std::int32_t>(i.e);
  from.space = Space::global;
  from.option = i.option2;
  from.cache = i.cache - 1;  // bound just before
  from.flag = false;
  std::uint32_t sizes[lanes_of_warp];
  find_sizes<source>(w, i, sizes);
  alignas(64) std::byte row[lanes_of_warp * 16] = {};
  // A size that is no power of two is read in parts that are, the largest first.
  for (std::uint32_t part = i.size; part; part /= 2) {
    std::uint32_t reading = 0;
    for (unsigned k = 0; k < lanes_of_warp; ++k)
      if (sizes[k] & part) reading |= lane_bits.bit[k];
    if (!(reading &= mask)) continue;
    const auto before = [&](unsigned k) { return sizes[k] & ~(2 * part - 1); };
    Request r{w, from, reading, part, Operation::load, false};
    find_addresses(r);
    r.together = false;
    r.high += i.size - part;
    each_active(reading, [&](unsigned k) { r.addresses[k] += before(k); });
    Reach found;
    w.worker.memory.reach(r, found);
    each_active(reading,
                [&](unsigned k) { std::memcpy(row + k * i.size + before(k), found.at[k], part); });
  }
  Request r{w, i, mask, i.size, Operation::store, false};
  r.values = row;
  r.stride = i.size;
  find_addresses(r);
  r.together = false;
  Reach found;
  w.worker.memory.reach(r, found);
  each_active(mask, [&](unsigned k) { std::memcpy(found.at[k], row + k * i.size, i.size); });
  if (!w.worker.launch.races) return;
  each_active(mask, [&](unsigned k) {
    w.block.copies[w.index].begin(w.block.shared_uses, w.index, k, r.addresses[k], i.size);
  });
}

void commit_group(Warp &w, const Instruction &, std::uint32_t mask) {
  if (w.worker.launch.races) w.block.copies[w.index].commit(mask);
}

void wait_group(Warp &w, const Instruction &i, std::uint32_t mask) {
  if (!w.worker.launch.races) return;
  w.block.copies[w.index].wait(w.block.shared_uses, mask, static_cast<std::uint32_t>(i.immediate),
                               w.block.stamp(w.index));
}

void wait_all(Warp &w, const Instruction &, std::uint32_t mask) {
  if (!w.worker.launch.races) return;
  w.block.copies[w.index].wait_all(w.block.shared_uses, mask, w.block.stamp(w.index));
}

void select_copy(Lowering &l) {
  if (!l.take("async")) l.refuse("only cp.async is supported");
  if (l.take("wait_group")) {
    l.expect_operands(1);
    if (l.operand(0).kind != Operand::Kind::integer) l.refuse("a number of groups is expected");
    l.out.immediate = static_cast<std::uint32_t>(l.operand(0).bits);
    l.out.run = wait_group;
    return;
  }
  const bool commits = l.take("commit_group");
  if (commits || l.take("wait_all")) {
    l.expect_operands(0);
    l.out.run = commits ? commit_group : wait_all;
    return;
  }
  const bool cached = l.take("ca");
  if (!cached && !l.take("cg")) l.refuse("it wants .ca or .cg");
  const std::string_view to = l.take_next(), from = l.take_next();
  if ((to != "shared" && to != "shared::cta") || from != "global")
    l.refuse("only from global to shared memory");
  const bool policy = has_policy(l);
  take_hints(l);
  expect_operands(l, 3, 4, policy);
  l.bind_address(1, Space::global);
  l.out.b = l.out.a;
  l.out.option2 = l.out.option;
  if (l.out.immediate != static_cast<std::int32_t>(l.out.immediate))
    l.refuse("an offset is too large");
  l.out.e = static_cast<std::uint32_t>(l.out.immediate);
  l.bind_address(0, Space::shared);
  const Operand &size = l.operand(2);
  if (size.kind != Operand::Kind::integer ||
      (size.bits != 16 && (!cached || (size.bits != 4 && size.bits != 8))))
    l.refuse("4, 8 or 16 bytes are copied, by .cg 16");
  l.out.size = static_cast<std::uint8_t>(size.bits);
  l.out.count = 1;
  l.out.run = copy_async<Source::whole>;
  if (l.operands() - policy == 3) return;
  const Operand &read = l.operand(3);
  if (read.kind == Operand::Kind::reg && l.register_type(read) == Type::pred) {
    l.out.c = l.read(3, Type::pred);
    l.out.atomic = read.negated;
    l.out.run = copy_async<Source::ignored_if>;
  } else {
    l.out.c = l.read(3, Type::b32);
    l.out.run = copy_async<Source::sized>;
  }
}

void zero_64(Warp &w, const Instruction &i, std::uint32_t mask) {
  put(w.lanes<std::uint64_t>(i.d), mask, [](unsigned) { return std::uint64_t{0}; });
}

// Caches are not simulated, and the contents of memory after a discard are undefined: they may be
// what they were.
void select_hint(Lowering &l) {
  Space space = l.take("global") ? Space::global : Space::generic;
  if (l.root == "prefetch" || l.root == "prefetchu") {
    if (l.root == "prefetch" && l.take("local")) space = Space::local;
    const bool eviction =
        space != Space::local && l.take_any({"L2::evict_last", "L2::evict_normal"});
    if (!eviction && !l.take("L1") && !l.take("L2")) l.refuse("the level is missing");
    l.expect_operands(1);
  } else {
    if (!l.take(l.root == "discard" ? "L2" : "L2::evict_normal")) l.refuse("the level is missing");
    l.expect_operands(2);
    if (l.operand(1).kind != Operand::Kind::integer || l.operand(1).bits != 128)
      l.refuse("it is of 128 bytes");
  }
  l.bind_address(0, space);
  l.out.run = nothing;
}

void select_policy(Lowering &l) {
  if (!l.take_any({"fractional", "range", "cvt"})) l.refuse("how it is made is missing");
  while (l.next()) l.take_next();
  l.out.d = l.write(0, Type::b64);
  l.out.run = zero_64;
}

}  // namespace

bool select_memory(Lowering &l) {
  const std::string_view root = l.root;
  if (root == "ld" || root == "ldu") return select_transfer(l, true), true;
  if (root == "st") return select_transfer(l, false), true;
  if (root == "cp") return select_copy(l), true;
  if (root == "prefetch" || root == "prefetchu" || root == "applypriority" || root == "discard")
    return select_hint(l), true;
  if (root == "createpolicy") return select_policy(l), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
