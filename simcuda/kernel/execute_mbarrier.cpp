// SPDX-License-Identifier: BSD-3-Clause
// mbarriers: barriers in shared memory, at which threads and copies arrive without waiting.
#include <cstdlib>

#include "addresses.h"

namespace simcuda::kernel::SIMCUDA_LANES {
namespace {

// Of mbarrier.arrive and mbarrier.arrive_drop, in `option2`. For arrivals of copies: whether
// nothing is expected beside them.
enum : std::uint16_t { drops = 1, completes_nothing = 2, expects_bytes = 4 };

[[noreturn]] void fail(unsigned lane, std::uint64_t offset, std::string why) {
  throw Failed{FaultKind::illegal_instruction,
               lane,
               offset,
               Mbarriers::size,
               true,
               Space::shared,
               std::move(why)};
}

std::string named(std::uint64_t offset) {
  return "the mbarrier at byte " + std::to_string(offset) + " of shared memory";
}

std::uint64_t offset_of(const Request &r, unsigned lane) {
  const std::uint64_t address = r.addresses[lane];
  return r.instruction.space == Space::shared ? address : address - shared_base;
}

void reach(Request &r) {
  r.of_mbarrier = true;
  find_addresses(r);
  r.together = false;
  if (r.instruction.space != Space::shared)
    each_active(r.mask, [&](unsigned lane) {
      if (r.addresses[lane] - shared_base >= most_of_window)
        fail(lane, r.addresses[lane], "Its address does not lead to shared memory.");
    });
  Reach found;
  r.warp.worker.memory.reach(r, found);
}

// Calls f(offset, lanes) for those lanes that use the same bytes.
template <class F>
void each_place(const Request &r, F f) {
  for (std::uint32_t left = r.mask; left;) {
    const std::uint64_t address = r.addresses[std::countr_zero(left)];
    const std::uint32_t same =
        left & mask_of([&](unsigned k) { return r.addresses[k] == address; });
    f(offset_of(r, static_cast<unsigned>(std::countr_zero(left))), same);
    left &= ~same;
  }
}

// Calls f(offset, lanes, mbarrier) in the same way.
template <class F>
void each_mbarrier(const Request &r, F f) {
  each_place(r, [&](std::uint64_t offset, std::uint32_t lanes) {
    Mbarrier *barrier = r.warp.block.mbarriers.find(offset);
    if (!barrier)
      fail(static_cast<unsigned>(std::countr_zero(lanes)), offset,
           "There is no mbarrier at byte " + std::to_string(offset) +
               " of shared memory: it was not initialized, or was invalidated or written over.");
    f(offset, lanes, *barrier);
  });
}

// Uses by these instructions do not race with each other, but with the initialization: they count
// as loads, so that this stays the last plain write, with which each is compared.
Request strong_use(Warp &w, const Instruction &i, std::uint32_t mask) {
  return {w, i, mask, Mbarriers::size, Operation::load, true};
}

void initialize(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r{w, i, mask, Mbarriers::size, Operation::store};
  reach(r);
  const std::uint32_t *counts = w.lanes<std::uint32_t>(i.b);
  each_place(r, [&](std::uint64_t offset, std::uint32_t lanes) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (w.block.mbarriers.find(offset))
      w.find_misuse(FindingKind::mbarrier, lane,
                    named(offset) + " is valid: it must be invalidated first");
    if (counts[lane] - 1 >= Mbarrier::most)
      fail(lane, offset,
           "An mbarrier expects 1 to " + std::to_string(Mbarrier::most) + " arrivals, not " +
               std::to_string(counts[lane]) + ".");
    w.block.mbarriers.put(offset, counts[lane]);
  });
}

// Strong, too, since cuda::pipeline's comes after a warp's match.sync alone, which orders nothing.
// Who comes too late finds no mbarrier.
void invalidate(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r{w, i, mask, Mbarriers::size, Operation::store, true};
  reach(r);
  each_mbarrier(
      r, [&](std::uint64_t offset, std::uint32_t, Mbarrier &) { w.block.mbarriers.erase(offset); });
}

void expect_bytes(Mbarrier &barrier, std::int64_t bytes, unsigned lane, std::uint64_t offset) {
  barrier.transactions += bytes;
  if (std::abs(barrier.transactions) > Mbarrier::most)
    fail(lane, offset,
         "The tx-count of " + named(offset) + " would be " + std::to_string(barrier.transactions) +
             ": it is at most " + std::to_string(Mbarrier::most) + ", with either sign.");
}

void expect_one_more(Mbarrier &barrier, unsigned lane, std::uint64_t offset) {
  if (barrier.pending == Mbarrier::most)
    fail(lane, offset,
         "The pending count of " + named(offset) + " is at most " + std::to_string(Mbarrier::most) +
             ", and would be one more.");
  ++barrier.pending;
}

void drop(Mbarrier &barrier, std::uint32_t count, unsigned lane, std::uint64_t offset) {
  if (count > barrier.expected)
    fail(lane, offset,
         "It drops " + std::to_string(count) + " of the " + std::to_string(barrier.expected) +
             " arrivals that " + named(offset) + " expects in each phase.");
  barrier.expected -= count;
}

void take_arrivals(Mbarrier &barrier, std::uint32_t count, unsigned lane, std::uint64_t offset) {
  if (count > barrier.pending)
    fail(lane, offset,
         "It counts as " + std::to_string(count) + ", and " + named(offset) + " expects only " +
             std::to_string(barrier.pending) + " more arrivals in this phase.");
  barrier.pending -= count;
}

// `take` counts a lane's arrival, and `pass_on` is called for the lanes that have arrived in a
// phase.
template <class F, class G>
void arrive_one_by_one(Warp &w, std::uint64_t offset, std::uint32_t lanes, Mbarrier &barrier,
                       F take, G pass_on) {
  std::uint32_t came = 0;
  each_active(lanes, [&](unsigned lane) {
    take(lane);
    came |= lane_bits.bit[lane];
    if (!barrier.is_met()) return;
    pass_on(came);
    w.block.complete(barrier, offset);
    came = 0;
  });
  if (came) pass_on(came);
}

void arrive(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r = strong_use(w, i, mask);
  reach(r);
  const std::uint32_t *given = i.atomic ? w.lanes<std::uint32_t>(i.b) : nullptr;
  std::uint64_t *states = w.lanes<std::uint64_t>(i.d);
  each_mbarrier(r, [&](std::uint64_t offset, std::uint32_t lanes, Mbarrier &barrier) {
    const auto take = [&](unsigned lane) {
      const bool of_bytes = i.option2 & expects_bytes;
      const std::uint32_t count = given && !of_bytes ? given[lane] : 1;
      if (of_bytes) expect_bytes(barrier, given[lane], lane, offset);
      states[lane] = barrier.state();
      if (i.option2 & drops) drop(barrier, count, lane, offset);
      take_arrivals(barrier, count, lane, offset);
      if (i.option2 & completes_nothing && barrier.is_met())
        w.find_misuse(
            FindingKind::mbarrier, lane,
            "it completes the phase of " + named(offset) + ", and .noComplete forbids it");
    };
    arrive_one_by_one(w, offset, lanes, barrier, take,
                      [&](std::uint32_t came) { w.block.arrive(w, came, barrier, i.releases); });
  });
}

// Copies are done at once, so that they arrive at once.
void arrive_by_copies(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r = strong_use(w, i, mask);
  reach(r);
  each_mbarrier(r, [&](std::uint64_t offset, std::uint32_t lanes, Mbarrier &barrier) {
    const auto take = [&](unsigned lane) {
      if (!i.option2) expect_one_more(barrier, lane, offset);
      take_arrivals(barrier, 1, lane, offset);
    };
    arrive_one_by_one(w, offset, lanes, barrier, take,
                      [&](std::uint32_t came) { w.block.arrive_by_copies(w, came, barrier); });
  });
}

template <bool completes>
void count_bytes(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r = strong_use(w, i, mask);
  reach(r);
  const std::uint32_t *bytes = w.lanes<std::uint32_t>(i.b);
  each_mbarrier(r, [&](std::uint64_t offset, std::uint32_t lanes, Mbarrier &barrier) {
    each_active(lanes, [&](unsigned lane) {
      const std::int64_t more = bytes[lane];
      expect_bytes(barrier, completes ? -more : more, lane, offset);
      if (completes && barrier.is_met()) w.block.complete(barrier, offset);
    });
  });
}

bool has_completed_parity(const Mbarrier &barrier, std::uint32_t parity) {
  return ((barrier.phase ^ parity) & 1) != 0;
}

bool has_completed(Warp &w, const Mbarrier &barrier, std::uint64_t state, unsigned lane,
                   std::uint64_t offset) {
  const std::uint64_t phase = Mbarrier::phase_of(state);
  if (phase != barrier.phase && phase + 1 != barrier.phase)
    w.find_misuse(FindingKind::mbarrier, lane,
                  "the state is of phase " + std::to_string(phase) + ", and " + named(offset) +
                      " is in phase " + std::to_string(barrier.phase) +
                      ": only this one and the one before can be waited for");
  return has_completed_parity(barrier, static_cast<std::uint32_t>(phase));
}

template <bool by_parity>
void wait(Warp &w, const Instruction &i, std::uint32_t mask) {
  Request r = strong_use(w, i, mask);
  reach(r);
  std::uint32_t completed = 0;
  each_mbarrier(r, [&](std::uint64_t offset, std::uint32_t lanes, Mbarrier &barrier) {
    std::uint32_t done = 0;
    each_active(lanes, [&](unsigned lane) {
      const bool is_done =
          by_parity ? has_completed_parity(barrier, w.lanes<std::uint32_t>(i.b)[lane])
                    : has_completed(w, barrier, w.lanes<std::uint64_t>(i.b)[lane], lane, offset);
      done |= is_done ? lane_bits.bit[lane] : 0;
    });
    if (done) w.block.wait(w, done, barrier, offset, i.acquires);
    completed |= done;
  });
  put_bits(w.bits(i.d), mask, completed);
  if (completed != mask) w.polled();
}

void pending_count(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint64_t *states = aligned(w.lanes<std::uint64_t>(i.b));
  put(w.lanes<std::uint32_t>(i.d), mask,
      [=](unsigned k) { return Mbarrier::pending_of(states[k]); });
}

// The object's address, and what else all instructions have.
void bind_object(Lowering &l, std::size_t operand) {
  const bool shared = l.take_any({"shared", "shared::cta"});
  const Type type = l.type();
  if (type != Type::b64) l.refuse_type(type);
  l.bind_address(operand, shared ? Space::shared : Space::generic);
  l.out.overwrites = true;  // it does not matter whether anybody has written to it
}

// Returns whether the order is the relaxed one.
bool take_order(Lowering &l, std::string_view usual) {
  const bool relaxed = l.take("relaxed");
  const bool ordered = l.take(usual) || relaxed;
  if (l.take("cta") != ordered) l.refuse("an order and a scope come together");
  return relaxed;
}

void select_arrive(Lowering &l, bool and_drops) {
  const bool of_bytes = l.take("expect_tx"), incomplete = l.take("noComplete");
  const bool relaxed = take_order(l, "release");
  if (incomplete && (of_bytes || relaxed))
    l.refuse(".noComplete comes with neither .expect_tx nor .relaxed");
  l.expect_operands(of_bytes || incomplete ? 3 : 2, 3);
  bind_object(l, 1);
  l.out.d = l.write(0, Type::b64);
  l.out.atomic = l.operands() == 3;
  if (l.out.atomic) l.out.b = l.read(2, Type::b32);
  l.out.releases = !relaxed;
  l.out.option2 =
      static_cast<std::uint16_t>((and_drops ? drops : 0) | (incomplete ? completes_nothing : 0) |
                                 (of_bytes ? expects_bytes : 0));
  l.out.run = arrive;
}

void select_wait(Lowering &l, std::size_t most_operands) {
  const bool by_parity = l.take("parity");
  l.out.acquires = !take_order(l, "acquire");
  l.expect_operands(3, most_operands);
  bind_object(l, 1);
  l.out.d = l.write(0, Type::pred);
  l.out.b = l.read(2, by_parity ? Type::b32 : Type::b64);
  if (l.operands() == 4) l.read(3, Type::b32);  // how long it may take
  l.out.run = by_parity ? wait<true> : wait<false>;
}

void select_count_of_bytes(Lowering &l, Execute run) {
  if (l.take("relaxed") != l.take("cta")) l.refuse("an order and a scope come together");
  l.expect_operands(2);
  bind_object(l, 0);
  l.out.b = l.read(1, Type::b32);
  l.out.run = run;
}

void select_of_mbarrier(Lowering &l) {
  if (l.take("arrive")) return select_arrive(l, false);
  if (l.take("arrive_drop")) return select_arrive(l, true);
  if (l.take("test_wait")) return select_wait(l, 3);
  if (l.take("try_wait")) return select_wait(l, 4);
  if (l.take("expect_tx")) return select_count_of_bytes(l, count_bytes<false>);
  if (l.take("complete_tx")) return select_count_of_bytes(l, count_bytes<true>);
  if (l.take("pending_count")) {
    const Type type = l.type();
    if (type != Type::b64) l.refuse_type(type);
    l.expect_operands(2);
    l.out.d = l.write(0, Type::b32);
    l.out.b = l.read(1, type);
    l.out.run = pending_count;
    return;
  }
  if (l.take("inval")) {
    l.expect_operands(1);
    bind_object(l, 0);
    l.out.run = invalidate;
    return;
  }
  if (!l.take("init")) l.refuse("this instruction is not supported");
  l.expect_operands(2);
  bind_object(l, 0);
  l.out.b = l.read(1, Type::b32);
  l.out.run = initialize;
}

void select_arrive_by_copies(Lowering &l) {
  l.take("mbarrier");
  if (!l.take("async") || !l.take("arrive")) l.refuse("only cp.async.mbarrier.arrive is supported");
  l.out.option2 = l.take("noinc");
  l.expect_operands(1);
  bind_object(l, 0);
  l.out.run = arrive_by_copies;
}

}  // namespace

bool select_mbarrier(Lowering &l) {
  if (l.root == "mbarrier") return select_of_mbarrier(l), true;
  if (l.root == "cp" && l.has("mbarrier")) return select_arrive_by_copies(l), true;
  return false;
}

}  // namespace simcuda::kernel::SIMCUDA_LANES
