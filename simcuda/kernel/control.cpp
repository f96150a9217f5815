// SPDX-License-Identifier: BSD-3-Clause
// Branches, calls, and other changes of a warp's place.
#include "control.h"

#include <bit>
#include <cstring>

namespace simcuda::kernel {
namespace {

void branch(Warp &w, const Instruction &i, std::uint32_t mask) {
  w.jump(mask, static_cast<std::uint32_t>(i.immediate));
}

void branch_indexed(Warp &w, const Instruction &i, std::uint32_t mask) {
  const std::uint32_t *index = w.lanes<std::uint32_t>(i.a);
  const Place32 *targets = w.frame->body->lists.data() + i.list;
  const auto count = static_cast<std::uint32_t>(i.immediate);
  while (mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint32_t wanted = index[lane];
    if (wanted >= count)
      throw Failed{FaultKind::invalid_pc,
                   lane,
                   wanted,
                   0,
                   false,
                   Space::generic,
                   "There are " + std::to_string(count) + " targets."};
    std::uint32_t same = 0;
    for (unsigned k = lane; k < lanes_of_warp; ++k)
      same |= std::uint32_t{(mask >> k & 1) && index[k] == wanted} << k;
    mask &= ~same;
    w.jump(same, targets[wanted]);
  }
}

void call_direct(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Call &call = w.frame->body->calls[i.list];
  w.call(mask, call, call.function);
}

bool fits(const Call &call, const Body &body) {
  const auto same = [](const std::vector<Passed> &given, const std::vector<Passed> &taken) {
    if (given.size() != taken.size()) return false;
    for (std::size_t n = 0; n < given.size(); ++n)
      if (given[n].is_register ? given[n].size != taken[n].size : given[n].size < taken[n].size)
        return false;
    return true;
  };
  return same(call.arguments, body.parameters) && same(call.results, body.results);
}

void call_pointer(Warp &w, const Instruction &i, std::uint32_t mask) {
  const Call &call = w.frame->body->calls[i.list];
  const std::uint64_t *pointers = w.lanes<std::uint64_t>(call.pointer);
  const auto &bodies = w.worker.launch.code.bodies;
  while (mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t pointer = pointers[lane];
    const std::uint64_t number = (pointer - function_base) / function_step;
    if (pointer < function_base || pointer % function_step || number == 0 ||
        number > bodies.size() || bodies[number - 1].entry)
      throw Failed{FaultKind::invalid_pc,    lane, pointer, 0, false, Space::generic,
                   "No function lies there."};
    const Body &body = bodies[number - 1];
    if (body.defined && !fits(call, body))
      throw Failed{FaultKind::invalid_pc,
                   lane,
                   pointer,
                   0,
                   false,
                   Space::generic,
                   "'" + body.name + "' takes other parameters than the call passes."};
    std::uint32_t same = 0;
    for (unsigned k = lane; k < lanes_of_warp; ++k)
      same |= std::uint32_t{(mask >> k & 1) && pointers[k] == pointer} << k;
    mask &= ~same;
    w.call(same, call, static_cast<int>(number) - 1);
  }
}

void ret(Warp &w, const Instruction &, std::uint32_t mask) {
  w.ret(mask);
}
void exit(Warp &w, const Instruction &, std::uint32_t mask) {
  w.exit(mask);
}

void trap(Warp &, const Instruction &, std::uint32_t mask) {
  throw Failed{FaultKind::trap,
               static_cast<unsigned>(std::countr_zero(mask)),
               0,
               0,
               false,
               Space::generic,
               {}};
}

void sleep(Warp &w, const Instruction &, std::uint32_t) {
  w.let_others_go();
}

void fence(Warp &w, const Instruction &, std::uint32_t mask) {
  w.block.fence(w, mask);
  w.block.release();
}

void fence_block(Warp &w, const Instruction &, std::uint32_t mask) {
  w.block.fence(w, mask);
}

void nothing(Warp &, const Instruction &, std::uint32_t) {}

void select_branch(Lowering &l) {
  l.take("uni");
  if (l.take("idx")) {
    l.expect_operands(2);
    l.out.a = l.read(0, Type::u32);
    const Operand &list = l.operand(1);
    const auto &lists = l.function().label_lists;
    if (list.kind != Operand::Kind::targets) l.refuse("a list of labels is expected");
    const auto &labels = lists[list.index];
    l.out.list = l.add_list({labels.begin(), labels.end()});
    l.out.immediate = static_cast<std::int64_t>(labels.size());
    l.out.run = branch_indexed;
    return;
  }
  l.expect_operands(1);
  if (l.operand(0).kind != Operand::Kind::label) l.refuse("a label is expected");
  l.out.immediate = l.operand(0).index;
  l.out.run = branch;
}

std::vector<Passed> passed(Lowering &l, const Operand &group, const std::vector<Passed> *formals,
                           bool results) {
  if (formals && formals->size() != group.parts.size())
    l.refuse("the function has " + std::to_string(formals->size()) +
             (results ? " results" : " parameters") + ", not " +
             std::to_string(group.parts.size()));
  std::vector<Passed> made;
  for (std::size_t n = 0; n < group.parts.size(); ++n)
    made.push_back(l.passed(group.parts[n], formals ? (*formals)[n] : Passed{}, results));
  return made;
}

std::vector<Passed> sizes_of(const std::vector<Formal> &formals) {
  std::vector<Passed> sizes;
  for (const Formal &formal : formals) {
    Passed one;
    one.is_register = formal.is_register;
    one.size = static_cast<std::uint32_t>(formal.size);
    sizes.push_back(one);
  }
  return sizes;
}

void select_call(Lowering &l) {
  l.take("uni");
  Call call;
  const Operand &callee = l.operand(1);
  if (callee.kind == Operand::Kind::function) {
    const int symbol = callee.index;
    const Program &program = l.module().program;
    call.function = program.symbols[symbol].function;
    const Function &function = program.functions[call.function];
    if (function.entry) l.refuse("a kernel cannot be called");
    const auto parameters = sizes_of(function.parameters), results = sizes_of(function.results);
    call.arguments = passed(l, l.operand(2), &parameters, false);
    call.results = passed(l, l.operand(0), &results, true);
    l.out.run = call_direct;
  } else {
    call.pointer = l.read(1, Type::b64);
    call.arguments = passed(l, l.operand(2), nullptr, false);
    call.results = passed(l, l.operand(0), nullptr, true);
    l.body().calls_pointers = true;
    l.out.run = call_pointer;
  }
  l.out.list = static_cast<std::uint32_t>(l.body().calls.size());
  l.body().calls.push_back(std::move(call));
}

void take_all(Lowering &l) {
  while (l.next()) l.take_next();
}

// All kinds of fences order more than they must.
void select_fence(Lowering &l) {
  const bool of_block = l.take("cta");
  for (std::string_view name : {"mbarrier_init", "proxy"})
    if (l.take(name)) {
      take_all(l);
      l.out.run = nothing;
      return;
    }
  l.take_any({"sc", "acq_rel", "acquire", "release"});
  l.take_any({"gl", "sys", "gpu", "cluster"});
  l.take_any({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  l.expect_operands(0);
  if (!of_block) l.body().independent_blocks = false;
  l.out.run = of_block ? fence_block : fence;
}

}  // namespace

bool select_control(Lowering &l) {
  const std::string_view root = l.root;
  l.out.flow = Flow::changes;
  if (root == "bra" || root == "brx") return select_branch(l), true;
  if (root == "call") return select_call(l), true;
  if (root == "ret" || root == "exit") {
    l.take("uni");
    l.expect_operands(0);
    l.out.run = root == "ret" ? ret : exit;
    return true;
  }
  if (root == "trap" || root == "brkpt") {
    l.expect_operands(0);
    l.out.run = trap;
    return true;
  }
  if (root == "nanosleep") {
    const Type type = l.type();
    if (type != Type::u32) l.refuse_type(type);
    l.expect_operands(1);
    l.read(0, type);
    l.body().independent_blocks = false;  // it waits for others
    l.out.run = sleep;
    return true;
  }
  l.out.flow = Flow::on;
  if (root == "membar" || root == "fence") return select_fence(l), true;
  // Instructions that do nothing here: profiler counters, registers of warps, dependent launches.
  if (root == "pmevent" || root == "setmaxnreg" || root == "griddepcontrol") {
    take_all(l);
    l.out.run = nothing;
    return true;
  }
  return false;
}

std::byte *place_of(const Warp &warp, const Frame &frame, const Passed &passed, unsigned lane) {
  if (!passed.is_register) return warp.local(lane) + frame.local_base + passed.offset;
  // Offsets in the frame are relative to its own frame, whichever is running.
  std::byte *base = (passed.place & 3) == static_cast<std::uint32_t>(Bank::frame)
                        ? frame.registers.data()
                        : warp.banks[passed.place & 3];
  return base + (passed.place >> 2) + std::size_t{lane} * passed.size;
}

}  // namespace simcuda::kernel
