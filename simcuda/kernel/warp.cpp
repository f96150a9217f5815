// SPDX-License-Identifier: BSD-3-Clause
#include "warp.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "control.h"

namespace simcuda::kernel {
namespace {

constexpr std::uint64_t patience = 4096;  // instructions of a group while others wait
constexpr std::uint32_t most_polls = 4,
                        most_polls_alone = 64;  // strong loads and atomic operations

}  // namespace

Bytes::Bytes(std::size_t size) : size_(size) {
  if (!size) return;
  const std::size_t rounded = (size + 63) / 64 * 64;
  data_.reset(static_cast<std::byte *>(::operator new(rounded, std::align_val_t{64})));
  std::memset(data_.get(), 0, rounded);
}

void Bytes::Free::operator()(std::byte *bytes) const {
  ::operator delete(bytes, std::align_val_t{64});
}

Warp::Warp(Block &its_block, unsigned its_index)
    : index(its_index),
      block(its_block),
      worker(its_block.worker),
      bank_(warp_bank::size),
      free_frames_(its_block.worker.launch.code.bodies.size()) {
  const LaunchState &launch = worker.launch;
  banks[static_cast<int>(Bank::constants)] = launch.code.constants.data();
  banks[static_cast<int>(Bank::warp)] = bank_.data();
  banks[static_cast<int>(Bank::launch)] = launch.bank.data();
  const std::uint32_t *size = launch.launch.block;
  for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
    const std::uint32_t thread = index * lanes_of_warp + lane;
    if (thread < launch.threads) born |= std::uint32_t{1} << lane;
    const auto set = [&](std::uint32_t offset, std::uint32_t value) {
      std::memcpy(bank_.data() + offset + lane * 4, &value, 4);
    };
    set(warp_bank::tid_x, thread % size[0]);
    set(warp_bank::tid_y, thread / size[0] % size[1]);
    set(warp_bank::tid_z, thread / size[0] / size[1]);
    set(warp_bank::warpid, index);
  }
}

void Warp::begin() {
  for (int i = 0; i < 3; ++i) {
    std::uint32_t value[lanes_of_warp];
    std::fill_n(value, lanes_of_warp, block.ctaid[i]);
    std::memcpy(bank_.data() + warp_bank::ctaid_x + i * sizeof value, value, sizeof value);
  }
  passed = {};
  live = born;
  group_changed_ = forced_ = rotate_ = false;
  meets_ = UINT32_MAX;
  active = 0;
  pc = 0;
  Frame *entry = take_frame(worker.launch.entry);
  frame = entry;
  worker.running = this;  // the launch needs too much local memory
  entry->parent = nullptr;
  entry->depth = 0;
  entry->local_base = 0;
  entry->lanes = born;
  need_local(entry->body->local_bytes);
  add_group({entry, 0, born, Wait::none, 0, 0});
}

Thread Warp::thread_of(unsigned lane) const {
  return worker.launch.thread_at(block.index, index * lanes_of_warp + lane);
}

Place Warp::place() const {
  return worker.launch.place_of(frame->function, pc - 1);
}

void Warp::find_misuse(FindingKind kind, unsigned lane, std::string but) {
  const std::uint32_t at = worker.launch.first_instruction[frame->function] + pc - 1;
  if (!worker.launch.launch.checks.barriers || worker.known(kind, at)) return;
  Finding finding;
  finding.kind = kind;
  finding.place = place();
  finding.thread = thread_of(lane);
  finding.detail = std::move(but);
  worker.find_out(std::move(finding), at);
}

Frame *Warp::take_frame(int function) {
  auto &free = free_frames_[function];
  if (!free.empty()) {
    Frame *found = free.back();
    free.pop_back();
    return found;
  }
  auto made = std::make_unique<Frame>();
  made->function = function;
  made->body = &worker.launch.code.bodies[function];
  made->registers = Bytes(made->body->frame_bytes);
  frames_.push_back(std::move(made));
  return frames_.back().get();
}

// Each thread has its own range, so a new size moves them all.
void Warp::need_local(std::uint32_t room) {
  if (room <= local_room_) return;
  if (room > most_local_bytes)
    throw Failed{
        FaultKind::stack_overflow,
        static_cast<unsigned>(std::countr_zero(active | live)),
        room,
        0,
        false,
        Space::local,
        "A thread has at most " + std::to_string(most_local_bytes) + " bytes of local memory."};
  const std::uint32_t wanted = std::min(most_local_bytes, std::max(room, local_room_ * 2));
  Bytes grown(std::size_t{wanted} * lanes_of_warp);
  for (unsigned lane = 0; lane < lanes_of_warp && local_room_; ++lane)
    std::memcpy(grown.data() + std::size_t{lane} * wanted, local(lane), local_room_);
  local_ = std::move(grown);
  local_room_ = wanted;
}

// One that does not wait at a barrier.
void Warp::add_group(const Group &group) {
  for (Group &each : waiting_)
    if (each.frame == group.frame && each.pc == group.pc && each.wait != Wait::barrier) {
      each.mask |= group.mask;
      each.wait = Wait::none;  // it tries again
      return;
    }
  waiting_.push_back(group);
}

// The group in the deepest call, at the lowest instruction; in turns if a group has run for long.
bool Warp::choose() {
  const Frame *const frame_before = active ? frame : nullptr;
  const std::uint32_t pc_before = pc;
  if (active) add_group({frame, pc, active, Wait::none, 0, turns_});
  active = 0;
  group_changed_ = false;
  const auto before = [&](const Group &a, const Group &b) {
    if (rotate_) return a.ran < b.ran;
    if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
    if (a.pc != b.pc) return a.pc < b.pc;
    return a.ran < b.ran;
  };
  Group *best = nullptr;
  for (Group &each : waiting_)
    if (each.wait == Wait::none && (!best || before(each, *best))) best = &each;
  if (!best) {
    // Lanes that are waited for will not arrive: they have ended, or are waiting.
    for (Group &each : waiting_)
      if (each.wait == Wait::lanes && (!best || before(each, *best))) best = &each;
    if (!best) return false;
    forced_ = true;
  }
  rotate_ = false;
  frame = best->frame;
  pc = counted_from_ = best->pc;
  active = best->mask;
  if (frame != frame_before || pc != pc_before) {
    ++turns_;
    turn_began_ = executed_;
    polls_ = 0;
  }
  *best = waiting_.back();
  waiting_.pop_back();
  banks[static_cast<int>(Bank::frame)] = frame->registers.data();
  look_ahead();
  return true;
}

void Warp::look_ahead() {
  meets_ = UINT32_MAX;
  for (const Group &each : waiting_)
    if (each.frame == frame && each.wait != Wait::barrier && each.pc >= pc)
      meets_ = std::min(meets_, each.pc);
}

void Warp::merge_here() {
  account();
  for (std::size_t i = 0; i < waiting_.size();) {
    const Group &each = waiting_[i];
    if (each.frame == frame && each.pc == pc && each.wait != Wait::barrier) {
      active |= each.mask;
      waiting_[i] = waiting_.back();
      waiting_.pop_back();
    } else {
      ++i;
    }
  }
  look_ahead();
}

void Warp::account() {
  const std::uint64_t count = pc - counted_from_;
  executed_ += count;
  threads_executed_ += count * static_cast<unsigned>(std::popcount(active));
  counted_from_ = pc;
}

Warp::State Warp::run(std::uint64_t budget) {
  executed_ = threads_executed_ = turn_began_ = 0;
  polls_ = 0;
  worker.running = this;
  if (!active && !choose()) return State::waits;
  State state = State::ready;
  for (;;) {
    const Instruction *code = frame->body->instructions.data();
    if (pc == meets_) merge_here();
    for (;;) {
      const Instruction &i = code[pc++];
      std::uint32_t mask = active;
      if (i.guard) {
        std::uint32_t guard;
        std::memcpy(&guard, banks[0] + i.guard - 1, sizeof guard);
        mask &= i.guard_negated ? ~guard : guard;
      }
      if (i.flow == Flow::changes) {
        account();
        if (mask) i.run(*this, i, mask);
        break;
      }
      if (mask) i.run(*this, i, mask);
      if (pc == meets_) merge_here();
    }
    counted_from_ = pc;
    if (!waiting_.empty() && (executed_ - turn_began_ > patience || polls_ > most_polls)) {
      rotate_ = true;
      group_changed_ = true;
    }
    if (group_changed_ && !choose()) {
      state = live ? State::waits : State::ended;
      break;
    }
    if (executed_ >= budget || polls_ > most_polls_alone) break;
  }
  worker.count(threads_executed_);
  return state;
}

void Warp::jump(std::uint32_t mask, std::uint32_t target) {
  if (mask == active) {
    pc = target;
    if (!waiting_.empty()) group_changed_ = true;
    return;
  }
  active &= ~mask;
  add_group({frame, target, mask, Wait::none, 0, turns_});
  group_changed_ = true;
}

void Warp::call(std::uint32_t mask, const Call &call, int function) {
  const Body &body = worker.launch.code.bodies[function];
  if (!body.defined) return call_builtin(*this, mask, call, body);
  if (frame->depth >= deepest_call)
    throw Failed{FaultKind::stack_overflow,
                 static_cast<unsigned>(std::countr_zero(mask)),
                 0,
                 0,
                 false,
                 Space::local,
                 "Calls are nested " + std::to_string(deepest_call) + " deep."};
  const std::uint32_t base = frame->local_base + frame->body->local_bytes;
  need_local(base + body.local_bytes);
  Frame *callee = take_frame(function);
  callee->parent = frame;
  callee->call = &call;
  callee->return_to = pc;
  callee->depth = frame->depth + 1;
  callee->lanes = mask;
  callee->local_base = base;
  for (std::size_t n = 0; n < body.parameters.size(); ++n) {
    const Passed &from = call.arguments[n], &to = body.parameters[n];
    for (std::uint32_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      std::memcpy(place_of(*this, *callee, to, lane), place_of(*this, *frame, from, lane), to.size);
    }
  }
  active &= ~mask;
  add_group({callee, 0, mask, Wait::none, 0, turns_});
  group_changed_ = true;
}

void Warp::leave_frame(Frame &left, std::uint32_t mask) {
  left.lanes &= ~mask;
  if (!left.lanes) free_frames_[left.function].push_back(&left);
}

void Warp::ret(std::uint32_t mask) {
  Frame &callee = *frame;
  if (!callee.parent) return exit(mask);
  const Call &call = *callee.call;
  for (std::size_t n = 0; n < callee.body->results.size(); ++n) {
    const Passed &from = callee.body->results[n], &to = call.results[n];
    for (std::uint32_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      std::memcpy(place_of(*this, *callee.parent, to, lane), place_of(*this, callee, from, lane),
                  from.size);
    }
  }
  active &= ~mask;
  add_group({callee.parent, callee.return_to, mask, Wait::none, 0, turns_});
  leave_frame(callee, mask);
  group_changed_ = true;
}

void Warp::exit(std::uint32_t mask) {
  live &= ~mask;
  active &= ~mask;
  for (Frame *each = frame; each;) {
    Frame *const parent = each->parent;
    leave_frame(*each, mask);
    each = parent;
  }
  for (Group &each : waiting_)
    if (each.wait == Wait::lanes) each.wait = Wait::none;
  group_changed_ = true;
  block.complete_barriers();
}

bool Warp::gather(std::uint32_t mask, std::uint32_t wanted) {
  if (!(wanted & live & ~mask)) return true;
  if (forced_) {
    forced_ = false;
    return true;
  }
  active &= ~mask;
  add_group({frame, pc - 1, mask, Wait::none, 0, turns_});
  for (Group &each : waiting_)
    if (each.frame == frame && each.pc == pc - 1) each.wait = Wait::lanes;
  group_changed_ = true;
  return false;
}

void Warp::wait_at_barrier(std::uint32_t mask, std::uint8_t number, bool again) {
  active &= ~mask;
  waiting_.push_back({frame, again ? pc - 1 : pc, mask, Wait::barrier, number, turns_});
  if (again) waiting_.back().ran |= std::uint64_t{1} << 63;
  group_changed_ = true;
}

void Warp::leave_barrier(std::uint8_t number) {
  std::vector<Group> free;
  for (std::size_t i = 0; i < waiting_.size();) {
    Group &each = waiting_[i];
    if (each.wait != Wait::barrier || each.barrier != number) {
      ++i;
      continue;
    }
    if (each.ran >> 63) passed[number] |= each.mask;
    each.ran &= ~(std::uint64_t{1} << 63);
    each.wait = Wait::none;
    free.push_back(each);
    waiting_[i] = waiting_.back();
    waiting_.pop_back();
  }
  for (const Group &each : free) add_group(each);
  group_changed_ = true;
}

bool Warp::can_run() const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const Group &each) { return each.wait != Wait::barrier; });
}

void Warp::let_others_go() {
  rotate_ = true;
  group_changed_ = true;
}

}  // namespace simcuda::kernel
