// SPDX-License-Identifier: BSD-3-Clause
// Surfaces: suld, sust and sured.
#include <algorithm>
#include <cstring>
#include <optional>

#include "half.h"
#include "texel_access.h"

namespace simcuda::kernel {
namespace {

constexpr unsigned most_bytes = 16;  // of an access

// For what lies outside.
enum class Outside : std::uint8_t { trap, clamp, zero };
enum class Change : std::uint8_t { add, min, max, and_, or_ };

std::string sentence(const char *coordinate, std::int64_t value, std::uint64_t limit) {
  return std::string("Its ") + coordinate + " is " + std::to_string(value) + ", of " +
         std::to_string(limit) + ".";
}

// What some lanes of a warp use of one surface: `size` bytes each, that begin at a multiple of this
// in their row.
class Access {
 public:
  Access(Warp &warp, const Instruction &instruction, const Texels &texels, std::uint32_t lanes,
         Operation operation, unsigned size, unsigned scale)
      : instruction_(instruction),
        texels_(texels),
        scale_(scale),
        request(warp, instruction_, 0, size, operation) {
    each_active(lanes, [&](unsigned k) { place(warp, k); });
  }
  // `values`: what is stored, `stride` bytes for each lane.
  void reach(Reach &found, const std::byte *values = nullptr, unsigned stride = 0) {
    request.values = values;
    request.stride = stride;
    if (request.mask) reach_texels(request, found);
  }

 private:
  [[noreturn]] void fail(FaultKind kind, unsigned lane, std::uint64_t address, std::string detail) {
    throw Failed{kind,
                 lane,
                 address,
                 request.size,
                 request.operation != Operation::load,
                 Space::generic,
                 std::move(detail)};
  }

  void place(const Warp &warp, unsigned lane) {
    const Geometry &geometry = geometries[instruction_.option];
    const Place32 *places = list_of(warp, instruction_);
    const TexelLevel &level = texels_.levels[0];
    std::int64_t at[3] = {}, layer = 0;
    if (geometry.layered) layer = warp.lanes<std::uint32_t>(*places++)[lane];
    for (unsigned n = 0; n < geometry.dimensions; ++n)
      at[n] = warp.lanes<std::int32_t>(places[n])[lane];
    at[0] *= scale_;
    const std::int64_t row = std::int64_t{level.width} * texels_.bytes();
    const std::int64_t limits[] = {row, level.height, level.depth,
                                   std::max<std::int64_t>(texels_.layers, 1)};
    static constexpr const char *names[] = {"byte in a row", "row", "slice", "layer"};
    std::int64_t *const values[] = {&at[0], &at[1], &at[2], &layer};
    for (unsigned n = 0; n < 4; ++n) {
      const std::int64_t most = limits[n] - (n == 0 ? request.size : 1);
      std::int64_t &value = *values[n];
      if (value >= 0 && value <= most) continue;
      const auto outside = static_cast<Outside>(instruction_.option2);
      if (outside == Outside::zero) return;
      if (outside == Outside::trap || most < 0)  // clamped to what is too small for it
        fail(FaultKind::outside_surface, lane, 0,
             sentence(names[n], value, static_cast<std::uint64_t>(limits[n])));
      value = value < 0 ? 0 : n == 0 ? most / request.size * request.size : most;
    }
    if (at[0] % request.size)
      fail(FaultKind::misaligned, lane, static_cast<std::uint64_t>(at[0]),
           "It is the place in a row of a surface.");
    request.mask |= 1u << lane;
    request.addresses[lane] = level.address + static_cast<std::uint64_t>(at[0]) +
                              static_cast<std::uint64_t>(at[1]) * level.pitch +
                              static_cast<std::uint64_t>(at[2] + layer) * level.slice;
  }

  Instruction instruction_;
  const Texels &texels_;
  const unsigned scale_;

 public:
  Request request;
};

// The parts of a lane's value are registers of 16, 32 or 64 bits, of which the lower bytes count.
unsigned lane_bytes(const Instruction &i) {
  return std::max<unsigned>(i.size, 2);
}

void load(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Place32 *results = list_of(w, i) + geometries[i.option].coordinates();
  each_handle(w, i.a, mask, true, [&](const Texels &texels, std::uint32_t lanes) {
    Access access(w, i, texels, lanes, Operation::load, unsigned{i.size} * i.count, 1);
    Reach found;
    access.reach(found);
    each_active(lanes, [&](unsigned k) {
      for (unsigned n = 0; n < i.count; ++n) {
        std::byte *to = w.lanes<std::byte>(results[n]) + k * lane_bytes(i);
        std::memset(to, 0, lane_bytes(i));
        if (access.request.mask >> k & 1) std::memcpy(to, found.at[k] + n * i.size, i.size);
      }
    });
  });
}

void store_rows(Access &access, const std::byte *rows, unsigned stride) {
  Reach found;
  access.reach(found, rows, stride);
  each_active(access.request.mask, [&](unsigned k) {
    std::memcpy(found.at[k], rows + k * stride, access.request.size);
  });
}

void store(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Place32 *values = list_of(w, i) + geometries[i.option].coordinates();
  std::byte rows[lanes_of_warp * most_bytes];
  const unsigned stride = unsigned{i.size} * i.count;
  each_active(mask, [&](unsigned k) {
    for (unsigned n = 0; n < i.count; ++n)
      std::memcpy(rows + k * stride + n * i.size, w.lanes<std::byte>(values[n]) + k * lane_bytes(i),
                  i.size);
  });
  each_handle(w, i.a, mask, true, [&](const Texels &texels, std::uint32_t lanes) {
    Access access(w, i, texels, lanes, Operation::store, stride, 1);
    store_rows(access, rows, stride);
  });
}

// Numbers that a channel cannot hold become the nearest that it can.
void put_channel(Channel channel, std::uint32_t bits, std::byte *to) {
  const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  const auto whole = static_cast<std::int32_t>(bits);
  switch (channel) {
    case Channel::u8:
      return put(static_cast<std::uint8_t>(std::min(bits, 0xFFu)));
    case Channel::u16:
      return put(static_cast<std::uint16_t>(std::min(bits, 0xFFFFu)));
    case Channel::s8:
      return put(static_cast<std::int8_t>(std::clamp(whole, -128, 127)));
    case Channel::s16:
      return put(static_cast<std::int16_t>(std::clamp(whole, -32768, 32767)));
    case Channel::f16:
      return put(to_half(std::bit_cast<float>(bits)));
    default:
      return put(bits);
  }
}

void store_formatted(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Place32 *values = list_of(w, i) + geometries[i.option].coordinates();
  each_handle(w, i.a, mask, true, [&](const Texels &texels, std::uint32_t lanes) {
    std::byte rows[lanes_of_warp * most_bytes] = {};
    const unsigned size = texels.bytes(), channel = bytes_of(texels.channel);
    each_active(lanes, [&](unsigned k) {
      for (unsigned n = 0; n < std::min<unsigned>(i.count, texels.channels); ++n)
        put_channel(texels.channel, w.lanes<std::uint32_t>(values[n])[k],
                    rows + k * size + n * channel);
    });
    Access access(w, i, texels, lanes, Operation::store, size, size);
    store_rows(access, rows, size);
  });
}

template <class T, Change change>
T changed(T old, T by) {
  switch (change) {
    case Change::add:
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(by));
    case Change::min:
      return std::min(old, by);
    case Change::max:
      return std::max(old, by);
    case Change::and_:
      return old & by;
    case Change::or_:
      return old | by;
  }
}

template <class T, Change change>
void reduce(Warp &w, const Instruction &i, std::uint32_t mask) {
  const T *values = w.lanes<T>(list_of(w, i)[geometries[i.option].coordinates()]);
  each_handle(w, i.a, mask, true, [&](const Texels &texels, std::uint32_t lanes) {
    Access access(w, i, texels, lanes, Operation::atomic, sizeof(T), 1);
    access.request.strong = true;
    Reach found;
    access.reach(found);
    if (!access.request.mask) return;
    w.block.release();
    std::uint32_t others = 0;
    each_active(access.request.mask, [&](unsigned k) {
      auto *place = reinterpret_cast<T *>(found.at[k]);
      T old = __atomic_load_n(place, __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(place, &old, (changed<T, change>(old, values[k])), true,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
      }
      others |= std::uint32_t{changed<T, change>(old, values[k]) != old} << k;
    });
    w.block.order(access.request, others);
    w.block.acquire();
    w.polled();
  });
}

template <Change change>
Execute reduction(Type type) {
  switch (type) {
    case Type::u32:
    case Type::b32:
      return reduce<std::uint32_t, change>;
    case Type::s32:
      return reduce<std::int32_t, change>;
    case Type::u64:
      return reduce<std::uint64_t, change>;
    case Type::s64:
      return reduce<std::int64_t, change>;
    default:
      return nullptr;
  }
}

void take_outside(Lowering &l) {
  const Outside outside = l.take("clamp")  ? Outside::clamp
                          : l.take("zero") ? Outside::zero
                                           : Outside::trap;
  if (outside == Outside::trap && !l.take("trap")) l.refuse("it wants .trap, .clamp or .zero");
  l.out.option2 = static_cast<std::uint16_t>(outside);
}

const Geometry &take_geometry_of_surface(Lowering &l) {
  const Geometry &geometry = take_geometry(l);
  if (geometry.cube) l.refuse("a surface has no directions");
  return geometry;
}

void select_transfer(Lowering &l, bool loads) {
  const bool formatted = !loads && l.take("p");
  if (!formatted && !l.take("b")) l.refuse("it is with .b" + std::string(loads ? "" : " or .p"));
  const Geometry &geometry = take_geometry_of_surface(l);
  if (formatted && geometry.layered) l.refuse("not with layers");
  l.take_any({"ca", "cg", "cs", "cv", "wb", "wt"});
  const unsigned count = l.take("v2") ? 2 : l.take("v4") ? 4 : 1;
  const Type type = l.type();
  take_outside(l);
  if (formatted ? type != Type::b32 : !is_bits(type) || bytes_of(type) * count > most_bytes)
    l.refuse_type(type);
  l.expect_operands(2);
  const std::size_t surface = loads ? 1 : 0, value = loads ? 0 : 1;
  std::vector<Place32> list;
  bind_texels(l, surface, geometry, Type::s32, list);
  const Operand &given = l.operand(value);
  const bool alone = given.kind != Operand::Kind::vector;
  if ((alone ? 1 : given.parts.size()) != count)
    l.refuse("a vector of " + std::to_string(count) + " is expected");
  for (unsigned n = 0; n < count; ++n) {
    const Operand &part = alone ? given : given.parts[n];
    list.push_back(loads ? l.write(part, type) : l.read(part, type));
  }
  l.out.list = l.add_list(list);
  l.out.count = static_cast<std::uint8_t>(count);
  l.out.size = static_cast<std::uint8_t>(bytes_of(type));
  l.out.run = loads ? load : formatted ? store_formatted : store;
}

void select_reduction(Lowering &l) {
  const bool samples = l.take("p");
  if (!samples && !l.take("b")) l.refuse("it is with .b or .p");
  static constexpr std::pair<std::string_view, Change> names[] = {{"add", Change::add},
                                                                  {"min", Change::min},
                                                                  {"max", Change::max},
                                                                  {"and", Change::and_},
                                                                  {"or", Change::or_}};
  std::optional<Change> change;
  for (auto &[name, its] : names)
    if (l.take(name)) change = its;
  if (!change) l.refuse("the operation is missing, or not known");
  const Geometry &geometry = take_geometry_of_surface(l);
  if (samples || geometry.layered) l.refuse("only by bytes, and without layers");
  const Type type = l.type();
  take_outside(l);
  const bool bits = *change == Change::and_ || *change == Change::or_;
  if (bits != (type == Type::b32) || (*change == Change::add && type == Type::s64))
    l.refuse_type(type);
  l.expect_operands(2);
  std::vector<Place32> list;
  bind_texels(l, 0, geometry, Type::s32, list);
  list.push_back(l.read(1, type));
  l.out.list = l.add_list(list);
  l.out.count = 1;
  l.out.unseen = true;
  l.body().independent_blocks = false;
  switch (*change) {
    case Change::add:
      l.out.run = reduction<Change::add>(type);
      break;
    case Change::min:
      l.out.run = reduction<Change::min>(type);
      break;
    case Change::max:
      l.out.run = reduction<Change::max>(type);
      break;
    case Change::and_:
      l.out.run = reduction<Change::and_>(type);
      break;
    case Change::or_:
      l.out.run = reduction<Change::or_>(type);
      break;
  }
  if (!l.out.run) l.refuse_type(type);
}

}  // namespace

bool select_surface(Lowering &l) {
  if (l.root == "suld" || l.root == "sust") return select_transfer(l, l.root == "suld"), true;
  if (l.root == "sured") return select_reduction(l), true;
  return false;
}

}  // namespace simcuda::kernel
