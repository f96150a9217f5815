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
  if (!mask) return;
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
  if (!mask) return;
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
  if (!mask) return;
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
  if (!mask) return;
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
  if (!mask) return;
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

void select_transfer(Lowering &l, bool is_load) {
  const auto space = take_space(l);
  const bool again = l.has("cv");  // caches are not simulated
  l.out.atomic = take_hints(l);
  if ((again || l.out.atomic) && space.value_or(Space::generic) != Space::shared)
    l.body().independent_blocks = false;
  const unsigned count = take_vector(l);
  take_hints(l);  // hints may follow the vector
  const Type type = l.type();
  const std::size_t address = is_load ? 1 : 0, value = is_load ? 0 : 1;
  l.expect_operands(2, 3);  // the third is a cache policy
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
    // Registers first: they determine the width of a constant's lanes.
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

void nothing(Warp &, const Instruction &, std::uint32_t) {}

// Done at once. Only the check of races knows what has not been waited for.
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
  if (root == "cp") return select_copy(l), true;
  if (root == "prefetch" || root == "prefetchu" || root == "applypriority" || root == "discard") {
    // Hints: the contents of memory after a discard are undefined, and may be what they were.
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
