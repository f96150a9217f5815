// SPDX-License-Identifier: BSD-3-Clause
// Barriers of a block.
#include <bit>

#include "control.h"

namespace simcuda::kernel {
namespace {

enum : std::uint8_t { no_reduction, popc, all, any };

struct Arrival {
  std::uint32_t number = 0, threads = 0;
};

Arrival arrival_of(const Warp &w, const Instruction &i, unsigned lane) {
  const std::uint32_t number = w.lanes<std::uint32_t>(i.a)[lane];
  const std::uint32_t threads = i.atomic ? w.lanes<std::uint32_t>(i.b)[lane] : 0;
  if (number > 15)
    throw Failed{FaultKind::illegal_instruction,      lane, number, 0, false, Space::generic,
                 "Barriers have the numbers 0 to 15."};
  if (threads % lanes_of_warp || threads > w.worker.launch.warps * lanes_of_warp)
    throw Failed{FaultKind::illegal_instruction,
                 lane,
                 threads,
                 0,
                 false,
                 Space::generic,
                 "A barrier's threads are a multiple of 32, no more than the block has."};
  return {number, threads};
}

void sync(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Arrival arrival = arrival_of(w, i, static_cast<unsigned>(std::countr_zero(mask)));
  const auto number = static_cast<std::uint8_t>(arrival.number);
  w.wait_at_barrier(mask, number, false);
  w.block.arrive(w, number, arrival.threads, mask, 0, i.flag, true);
}

void arrive(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Arrival arrival = arrival_of(w, i, static_cast<unsigned>(std::countr_zero(mask)));
  w.block.arrive(w, arrival.number, arrival.threads, mask, 0, i.flag, false);
}

// Executed twice: when the warp arrives, and when all have arrived.
void reduce(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Arrival arrival = arrival_of(w, i, static_cast<unsigned>(std::countr_zero(mask)));
  const auto number = static_cast<std::uint8_t>(arrival.number);
  if ((w.passed[number] & mask) != mask) {
    const std::uint32_t predicate = w.bits(i.c) ^ (i.option2 ? ~0u : 0);
    w.wait_at_barrier(mask, number, true);
    w.block.arrive(w, number, arrival.threads, mask, predicate & mask, i.flag, true);
    return;
  }
  w.passed[number] &= ~mask;
  const Block::Result &result = w.block.results[number];
  if (i.count == popc) {
    std::uint32_t *d = w.lanes<std::uint32_t>(i.d);
    for (unsigned k = 0; k < lanes_of_warp; ++k)
      if (mask >> k & 1) d[k] = result.count;
  } else {
    const bool value = i.count == all ? result.all : result.any;
    std::uint32_t &d = w.bits(i.d);
    d = (d & ~mask) | (value ? mask : 0);
  }
}

void select_block_barrier(Lowering &l, bool aligned) {
  l.take("cta");
  if (l.take("warp")) {
    if (!l.take("sync")) l.refuse("it wants .sync");
    l.expect_operands(1);
    l.out.e = l.read(0, Type::b32);
    l.out.atomic = true;
    l.out.run = sync_lanes;
    return;
  }
  const bool is_sync = l.take("sync"), is_arrive = l.take("arrive"), is_red = l.take("red");
  if (is_sync + is_arrive + is_red != 1) l.refuse("it wants one of .sync, .arrive and .red");
  l.out.flag = l.take("aligned") || aligned;
  if (is_red) {
    l.out.count = l.take("popc") ? popc : l.take("and") ? all : l.take("or") ? any : no_reduction;
    const Type type = l.type();
    if (l.out.count == no_reduction) l.refuse("it wants one of .popc, .and and .or");
    if (type != (l.out.count == popc ? Type::u32 : Type::pred)) l.refuse_type(type);
    l.expect_operands(3, 4);
    l.out.d = l.write(0, type);
    l.out.a = l.read(1, Type::b32);
    l.out.atomic = l.operands() == 4;
    if (l.out.atomic) l.out.b = l.read(2, Type::b32);
    const std::size_t last = l.operands() - 1;
    l.out.c = l.read(last, Type::pred);
    l.out.option2 = l.operand(last).negated;
    l.out.run = reduce;
    return;
  }
  l.expect_operands(is_arrive ? 2 : 1, 2);
  l.out.a = l.read(0, Type::b32);
  l.out.atomic = l.operands() == 2;
  if (l.out.atomic) l.out.b = l.read(1, Type::b32);
  l.out.run = is_sync ? sync : arrive;
}

}  // namespace

bool select_barrier(Lowering &l) {
  if (l.root != "bar" && l.root != "barrier") return false;
  l.out.flow = Flow::changes;
  select_block_barrier(l, l.root == "bar");
  return true;
}

}  // namespace simcuda::kernel
