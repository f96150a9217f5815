// SPDX-License-Identifier: BSD-3-Clause
// Exchange among the threads of a warp: votes, matches, shuffles, reductions.
#include <algorithm>
#include <bit>

#include "control.h"
#include "real.h"

namespace simcuda::kernel {
namespace {

template <class F>
void each_active(std::uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

void put_bits(std::uint32_t &to, std::uint32_t mask, std::uint32_t bits) {
  to = (to & ~mask) | (bits & mask);
}

void put_all(Warp &w, Place32 place, std::uint32_t mask, std::uint32_t value) {
  std::uint32_t *d = w.lanes<std::uint32_t>(place);
  each_active(mask, [=](unsigned k) { d[k] = value; });
}

void report(Warp &w, unsigned lane, const char *what) {
  w.find_misuse(FindingKind::warp_mask, lane, what);
}

// Calls f(mask, members) for lanes that take part together: those with the same mask, once all of
// them have arrived. Without .sync, the active lanes take part.
template <class F>
void together(Warp &w, const Instruction &i, std::uint32_t mask, F f) {
  if (!i.atomic) return f(mask, mask);
  const std::uint32_t *masks = w.lanes<std::uint32_t>(i.e);
  while (mask) {
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t named = masks[first];
    std::uint32_t same = 0;
    each_active(mask, [&](unsigned k) { same |= std::uint32_t{masks[k] == named} << k; });
    mask &= ~same;
    if (!w.gather(same, named)) continue;
    if (same & ~named)
      report(w, static_cast<unsigned>(std::countr_zero(same & ~named)),
             "its mask does not name itself");
    if (named & w.live & ~same && i.run != sync_lanes)
      report(w, first, "lanes that its mask names are elsewhere, and will not come");
    f(same, named & same);
  }
}

}  // namespace

// Named lanes may wait at another bar.warp.sync, which counts, too.
void sync_lanes(Warp &w, const Instruction &i, std::uint32_t mask) {
  together(w, i, mask, [&](std::uint32_t same, std::uint32_t) {
    w.block.join(w, w.lanes<std::uint32_t>(i.e)[std::countr_zero(same)]);
  });
}

namespace {

enum : std::uint8_t { all, any, uni, ballot };

void vote(Warp &w, const Instruction &i, std::uint32_t mask, std::uint32_t members) {
  const std::uint32_t yes = (w.bits(i.a) ^ (i.flag ? ~0u : 0)) & members;
  if (i.count == ballot) return put_all(w, i.d, mask, yes);
  const bool value = i.count == all   ? yes == members
                     : i.count == any ? yes != 0
                                      : yes == 0 || yes == members;
  put_bits(w.bits(i.d), mask, value ? ~0u : 0);
}

template <class T>
void match(Warp &w, const Instruction &i, std::uint32_t mask, std::uint32_t members) {
  const T *a = w.lanes<T>(i.a);
  T values[lanes_of_warp];
  std::copy_n(a, lanes_of_warp, values);
  std::uint32_t *d = w.lanes<std::uint32_t>(i.d);
  std::uint32_t same_for_all = 0;
  each_active(mask, [&](unsigned k) {
    std::uint32_t same = 0;
    each_active(members, [&](unsigned other) {
      same |= std::uint32_t{values[other] == values[k]} << other;
    });
    if (i.count == all) {
      d[k] = same == members ? members : 0;
      same_for_all |= std::uint32_t{same == members} << k;
    } else {
      d[k] = same;
    }
  });
  if (i.flag) put_bits(w.bits(i.b), mask, same_for_all);
}

enum : std::uint8_t { up, down, butterfly, index };

void shuffle(Warp &w, const Instruction &i, std::uint32_t mask, std::uint32_t members) {
  std::uint32_t values[lanes_of_warp];
  std::copy_n(w.lanes<std::uint32_t>(i.a), lanes_of_warp, values);
  const std::uint32_t *b = w.lanes<std::uint32_t>(i.b), *c = w.lanes<std::uint32_t>(i.c);
  std::uint32_t *d = w.lanes<std::uint32_t>(i.d);
  std::uint32_t in_range = 0;
  each_active(mask, [&](unsigned lane) {
    const std::uint32_t by = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    const std::uint32_t most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
    std::int32_t from = 0;
    bool inside = false;
    switch (i.count) {
      case up:
        from = static_cast<std::int32_t>(lane - by);
        inside = from >= static_cast<std::int32_t>(most);
        break;
      case down:
        from = static_cast<std::int32_t>(lane + by);
        inside = from <= static_cast<std::int32_t>(most);
        break;
      case butterfly:
        from = static_cast<std::int32_t>(lane ^ by);
        inside = from <= static_cast<std::int32_t>(most);
        break;
      default:
        from = static_cast<std::int32_t>(least | (by & ~segment & 31));
        inside = from <= static_cast<std::int32_t>(most);
    }
    const unsigned source = inside ? static_cast<unsigned>(from) : lane;
    in_range |= std::uint32_t{inside} << lane;
    if (!(members >> source & 1)) {
      report(w, lane, "it reads from a lane that takes no part");
      d[lane] = values[lane];
      return;
    }
    d[lane] = values[source];
  });
  if (i.flag) put_bits(w.bits(i.list), mask, in_range);
}

enum : std::uint8_t { add, least_u, most_u, least_s, most_s, and_, or_, xor_, least_f, most_f };

void reduce(Warp &w, const Instruction &i, std::uint32_t mask, std::uint32_t members) {
  const std::uint32_t *a = w.lanes<std::uint32_t>(i.a);
  bool first = true;
  std::uint32_t value = 0;
  each_active(members, [&](unsigned k) {
    const std::uint32_t x = i.flag ? a[k] & 0x7FFFFFFF : a[k];
    if (first) {
      value = x;
      first = false;
      return;
    }
    const auto s = static_cast<std::int32_t>(x), t = static_cast<std::int32_t>(value);
    const float f = float_of(x), g = float_of(value);
    switch (i.count) {
      case add:
        value += x;
        break;
      case least_u:
        value = std::min(value, x);
        break;
      case most_u:
        value = std::max(value, x);
        break;
      case least_s:
        value = static_cast<std::uint32_t>(std::min(s, t));
        break;
      case most_s:
        value = static_cast<std::uint32_t>(std::max(s, t));
        break;
      case and_:
        value &= x;
        break;
      case or_:
        value |= x;
        break;
      case xor_:
        value ^= x;
        break;
      // As min and max of f32: a NaN is ignored, or with .NaN is the result.
      default:
        if (f != f || g != g     ? (f != f) == i.option2
            : i.count == least_f ? f < g || (f == g && x >> 31)
                                 : f > g || (f == g && !(x >> 31)))
          value = x;
    }
  });
  const bool is_real = i.count == least_f || i.count == most_f;
  const float found = float_of(value);
  put_all(w, i.d, mask, is_real && found != found ? 0x7FFFFFFF : value);
}

void active_mask(Warp &w, const Instruction &i, std::uint32_t mask) {
  put_all(w, i.d, mask, mask);
}

void elect(Warp &w, const Instruction &i, std::uint32_t mask, std::uint32_t members) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(members ? members : mask));
  put_all(w, i.d, mask, leader);
  put_bits(w.bits(i.b), mask, std::uint32_t{1} << leader);
}

template <void (*f)(Warp &, const Instruction &, std::uint32_t mask, std::uint32_t members)>
void exchange(Warp &w, const Instruction &i, std::uint32_t mask) {
  together(w, i, mask, [&](std::uint32_t same, std::uint32_t members) { f(w, i, same, members); });
}

// d|p: the place of the predicate, if there is one.
std::optional<Place32> second_of(Lowering &l) {
  Operand second = l.operand(0);
  if (second.second < 0) return {};
  second.kind = Operand::Kind::reg;
  second.index = second.second;
  return l.write(second, Type::pred);
}

// .sync, and the mask that it requires.
void bind_members(Lowering &l, std::size_t operands) {
  l.out.atomic = l.take("sync");
  l.expect_operands(operands + l.out.atomic);
  if (l.out.atomic) l.out.e = l.read(operands, Type::b32);
}

void select_vote(Lowering &l) {
  bind_members(l, 2);
  l.out.count = l.take("all") ? all : l.take("any") ? any : l.take("uni") ? uni : ballot;
  if (l.out.count == ballot && !l.take("ballot"))
    l.refuse("it wants one of .all, .any, .uni and .ballot");
  const Type type = l.type();
  if (type != (l.out.count == ballot ? Type::b32 : Type::pred)) l.refuse_type(type);
  l.out.d = l.write(0, type);
  l.out.a = l.read(1, Type::pred);
  l.out.flag = l.operand(1).negated;
  l.out.run = exchange<vote>;
}

void select_match(Lowering &l) {
  bind_members(l, 2);
  if (!l.out.atomic) l.refuse("it wants .sync");
  l.out.count = l.take("all") ? all : any;
  if (l.out.count == any && !l.take("any")) l.refuse("it wants .all or .any");
  const Type type = l.type();
  if (type != Type::b32 && type != Type::b64) l.refuse_type(type);
  l.out.d = l.write(0, Type::b32);
  l.out.a = l.read(1, type);
  if (auto second = second_of(l)) {
    if (l.out.count == any) l.refuse("only .all has a predicate");
    l.out.flag = true;
    l.out.b = *second;
  }
  l.out.run = type == Type::b32 ? exchange<match<std::uint32_t>> : exchange<match<std::uint64_t>>;
}

void select_shuffle(Lowering &l) {
  bind_members(l, 4);
  l.out.count = l.take("up") ? up : l.take("down") ? down : l.take("bfly") ? butterfly : index;
  if (l.out.count == index && !l.take("idx"))
    l.refuse("it wants one of .up, .down, .bfly and .idx");
  const Type type = l.type();
  if (type != Type::b32) l.refuse_type(type);
  l.out.d = l.write(0, type);
  l.out.a = l.read(1, type);
  l.out.b = l.read(2, type);
  l.out.c = l.read(3, type);
  if (auto second = second_of(l)) {
    l.out.flag = true;
    l.out.list = *second;
  }
  l.out.run = exchange<shuffle>;
}

void select_redux(Lowering &l) {
  bind_members(l, 2);
  if (!l.out.atomic) l.refuse("it wants .sync");
  const bool is_add = l.take("add"), is_min = l.take("min"), is_max = l.take("max");
  const bool is_and = l.take("and"), is_or = l.take("or"), is_xor = l.take("xor");
  if (is_add + is_min + is_max + is_and + is_or + is_xor != 1) l.refuse("the operation is missing");
  l.out.flag = l.take("abs");
  l.out.option2 = l.take("NaN");
  const Type type = l.type();
  const bool extreme = is_min || is_max;
  const bool fits = type == Type::f32 ? extreme
                    : type == Type::b32
                        ? is_and || is_or || is_xor
                        : (type == Type::u32 || type == Type::s32) && (is_add || extreme);
  if (!fits || (type != Type::f32 && (l.out.flag || l.out.option2))) l.refuse_type(type);
  l.out.count = is_add              ? add
                : is_and            ? and_
                : is_or             ? or_
                : is_xor            ? xor_
                : type == Type::f32 ? (is_min ? least_f : most_f)
                : type == Type::u32 ? (is_min ? least_u : most_u)
                                    : (is_min ? least_s : most_s);
  l.out.d = l.write(0, type);
  l.out.a = l.read(1, type);
  l.out.run = exchange<reduce>;
}

}  // namespace

bool select_exchange(Lowering &l) {
  const std::string_view root = l.root;
  l.out.flow = Flow::changes;
  if (root == "vote") return select_vote(l), true;
  if (root == "match") return select_match(l), true;
  if (root == "shfl") return select_shuffle(l), true;
  if (root == "redux") return select_redux(l), true;
  if (root == "elect") {
    bind_members(l, 1);
    if (!l.out.atomic) l.refuse("it wants .sync");
    l.out.d = l.write(0, Type::b32);
    const auto second = second_of(l);
    if (!second) l.refuse("it wants a predicate behind '|'");
    l.out.b = *second;
    l.out.run = exchange<elect>;
    return true;
  }
  l.out.flow = Flow::on;
  if (root == "activemask") {
    const Type type = l.type();
    if (type != Type::b32) l.refuse_type(type);
    l.expect_operands(1);
    l.out.d = l.write(0, type);
    l.out.run = active_mask;
    return true;
  }
  return false;
}

}  // namespace simcuda::kernel
