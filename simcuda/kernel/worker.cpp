// SPDX-License-Identifier: BSD-3-Clause
// A worker: its blocks, their findings, and its end.
#include <algorithm>
#include <cstring>

#include "warp.h"

namespace simcuda::kernel {
namespace {

constexpr std::size_t most_findings = 64;  // that are reported
constexpr std::uint64_t slice = 1 << 14;  // instructions of a warp between two checks of the others
constexpr std::size_t most_resident = 16;   // blocks at once, if the launch is not cooperative
constexpr std::uint64_t rounds_alone = 64;  // slices of a block before another one begins
// Instructions of all threads between two checks whether the launch must end.
constexpr std::uint64_t between_questions = 1 << 18;

// The parameters that are an address in one of these windows, or a handle that leads there.
int parameter_into(const LaunchState &launch, const std::map<std::uint64_t, const Texels *> &texels,
                   const Window &window) {
  const auto leads_there = [&](std::uint64_t value) {
    const auto found = texels.find(value);
    if (found != texels.end() && found->second) value = found->second->levels[0].address;
    return value >= window.begin && value < window.end;
  };
  int found = -1;
  for (std::size_t i = 0; i < launch.kernel.parameters.size(); ++i) {
    const Parameter &parameter = launch.kernel.parameters[i];
    for (std::uint32_t at = (parameter.offset + 7) / 8 * 8;
         at + 8 <= parameter.offset + parameter.size; at += 8) {
      std::uint64_t value;
      std::memcpy(&value, launch.launch.parameters.data() + at, sizeof value);
      if (!leads_there(value)) continue;
      if (found >= 0 && found != static_cast<int>(i)) return -1;
      found = static_cast<int>(i);
    }
  }
  return found;
}

}  // namespace

bool Worker::known(FindingKind kind, std::uint32_t instruction) {
  const auto found = found_.find({instruction, kind});
  if (found == found_.end() || running->block.index < found->second.block) return false;
  ++found->second.finding.count;
  return true;
}

void Worker::find_out(Finding finding, std::uint32_t instruction) {
  Found found{std::move(finding), running->block.index, found_in_order_++};
  const auto [at, fresh] = found_.try_emplace({instruction, found.finding.kind}, found);
  if (fresh) return;
  found.finding.count += at->second.finding.count;
  at->second = std::move(found);
}

void Worker::count(std::uint64_t instructions) {
  instructions_ += instructions;
  if (const std::uint64_t most = launch.launch.most_instructions)
    if (launch.instructions.fetch_add(instructions) + instructions > most)
      throw Failed{FaultKind::limit, 0, 0, 0, false, Space::generic, {}};
  if (instructions_ - asked_at_ > between_questions) {
    asked_at_ = instructions_;
    if (launch.environment.stopped())
      throw Failed{FaultKind::stopped, 0, 0, 0, false, Space::generic, {}};
  }
}

const Texels &Worker::texels(std::uint64_t handle, unsigned lane) {
  const Texels *&known = texels_[handle];
  if (!known) known = launch.environment.texels(handle);
  if (!known)
    throw Failed{FaultKind::invalid_handle,
                 lane,
                 handle,
                 0,
                 false,
                 Space::generic,
                 launch.environment.describe_handle(handle)};
  return *known;
}

// The lowest block's is reported: earlier blocks go on, unless they may wait for this one.
void Worker::fail(const Failed &failed) {
  const Warp &warp = *running;
  const std::uint64_t block = warp.block.index;
  // The next instruction, if it was stopped between two instructions.
  const bool between = failed.kind == FaultKind::limit || failed.kind == FaultKind::stopped;
  const std::uint64_t wanted = launch.kernel.independent_blocks && !between ? block : 0;
  std::uint64_t end = launch.end_block;
  while (wanted < end && !launch.end_block.compare_exchange_weak(end, wanted)) {
  }
  fault_block_ = block;  // the lowest so far: those behind one that has faulted run no more
  Fault &fault = fault_.emplace();
  fault.kind = failed.kind;
  fault.place = launch.place_of(warp.frame->function, warp.pc - !between);
  fault.thread = warp.thread_of(failed.lane);
  fault.address = failed.address;
  fault.size = failed.size;
  fault.write = failed.write;
  fault.space = failed.space;
  fault.detail = failed.detail;
}

bool Worker::begin_block() {
  const std::uint64_t next = launch.next_block.fetch_add(1);
  if (next >= launch.end_block) return false;
  if (idle_.empty()) idle_.push_back(std::make_unique<Block>(*this));
  resident_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  resident_.back()->alone = false;
  resident_.back()->begin(next);
  return true;
}

bool Worker::run(std::uint64_t budget) {
  for (;;) try {
      return go_on(budget);
    } catch (const Failed &failed) {
      fail(failed);
    } catch (...) {
      // The environment's exception, or a lack of memory: thrown again once all workers have
      // stopped.
      launch.end_block = 0;
      thrown_ = std::current_exception();
    }
}

// Blocks one after the other. If a block does not end, others begin beside it, since it may wait
// for one of them. Those of a cooperative launch all exist from the beginning.
bool Worker::go_on(std::uint64_t budget) {
  const bool cooperative = launch.launch.cooperative;
  const std::uint64_t until = budget + std::min(instructions_, UINT64_MAX - budget);
  if (cooperative)
    while (begin_block()) {
    }
  while (!resident_.empty() || begin_block()) {
    if (instructions_ >= until) return false;
    Block &block = *resident_.front();
    block.alone = resident_.size() == 1 && !cooperative && !ever_several_;
    if (block.index >= launch.end_block || block.run(slice)) {
      idle_.push_back(std::move(resident_.front()));
      resident_.pop_front();
      rounds_ = 0;
      continue;
    }
    if (!cooperative) {
      if (++rounds_ < rounds_alone) continue;
      rounds_ = 0;
      if (resident_.size() < most_resident && begin_block()) ever_several_ = true;
    }
    std::rotate(resident_.begin(), resident_.begin() + 1, resident_.end());
  }
  return true;
}

void Worker::take_over(Worker &other) {
  memory.take_over(other.memory);
  instructions_ += other.instructions_;
  for (auto &[key, its] : other.found_) {
    const auto [at, fresh] = found_.try_emplace(key, its);
    if (fresh) continue;
    Found &mine = at->second;
    const std::uint64_t count = mine.finding.count + its.finding.count;
    if (its.block < mine.block) mine = its;
    mine.finding.count = count;
  }
  if (other.fault_block_ < fault_block_) {
    fault_block_ = other.fault_block_;
    fault_ = std::move(other.fault_);
  }
  texels_.merge(other.texels_);
  if (!thrown_) thrown_ = other.thrown_;
}

Outcome Worker::outcome() {
  if (thrown_) std::rethrow_exception(thrown_);
  Outcome outcome;
  outcome.fault = fault_;
  outcome.instructions = instructions_;
  add_findings(outcome);
  for (auto &view : memory.views()) add_accesses(*view, outcome);
  for (auto &view : memory.gone()) add_accesses(*view, outcome);
  return outcome;
}

// By block, and within a block in the order found.
void Worker::add_findings(Outcome &outcome) {
  std::vector<Found *> all;
  for (auto &[key, found] : found_) {
    // How many blocks after the faulted one have run depends on timing.
    if (fault_ && launch.kernel.independent_blocks) {
      if (found.block > fault_block_) continue;
      found.finding.count = 1;
    }
    all.push_back(&found);
  }
  std::sort(all.begin(), all.end(), [](const Found *a, const Found *b) {
    return std::tie(a->block, a->order) < std::tie(b->block, b->order);
  });
  for (Found *found : all)
    if (outcome.findings.size() < most_findings)
      outcome.findings.push_back(std::move(found->finding));
    else
      outcome.findings_left_out += found->finding.count;
}

void Worker::add_accesses(const View &view, Outcome &outcome) const {
  if (view.window.bytes == launch.grid_barrier.data()) return;
  const int parameter = parameter_into(launch, texels_, view.window);
  const auto add = [&](const UsedBytes &used, Use use) {
    if (used.bytes.empty()) return;
    const auto place = static_cast<std::uint32_t>(outcome.places.size());
    outcome.places.push_back(launch.place_of(used.instruction));
    used.bytes.ranges([&](std::uint64_t begin, std::uint64_t end) {
      outcome.accesses.push_back(
          {view.window.begin + begin, view.window.begin + end, use, parameter, place});
    });
  };
  add(view.reads, Use::reads);
  add(view.writes, Use::writes);
  add(view.atomics, Use::atomic);
}

}  // namespace simcuda::kernel
