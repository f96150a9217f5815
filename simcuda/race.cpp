// SPDX-License-Identifier: BSD-3-Clause
#include "race.h"

#include <algorithm>
#include <cstdio>

#include "driver.h"

namespace simcuda {
namespace {

// A client that never waits for what it destroyed keeps this many lanes; older ones are then taken
// for waited for, which can hide a race and invents none.
constexpr std::size_t most_retired = 1024;

std::string hex(const void *handle) {
  char text[24];
  std::snprintf(text, sizeof text, "%#llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(handle)));
  return text;
}

std::string line_of(const Stream &stream) {
  const Context &context = *stream.context;
  std::string name;
  if (stream.kind == Stream::Kind::legacy)
    name = "the legacy stream";
  else if (stream.kind == Stream::Kind::per_thread)
    name = "the per-thread stream " + std::to_string(stream.id);
  else
    name = std::string(stream.blocking() ? "blocking" : "non-blocking") + " stream " +
           hex(stream.handle);
  return name + " of context " + hex(context.handle) + " (device " +
         std::to_string(context.device) + ')';
}

std::uintptr_t offset_in(const Allocation &allocation, std::uintptr_t address) {
  const bool by_alias = allocation.alias && address - allocation.alias < allocation.size;
  return address - (by_alias ? allocation.alias : allocation.address);
}

Effect effect_of(const Access &access) {
  switch (access.life) {
    case Access::Life::begins:
      return Effect::allocates;
    case Access::Life::ends:
      return Effect::frees;
    case Access::Life::goes_on:
      break;
  }
  return access.write ? Effect::writes : Effect::reads;
}

}  // namespace

Lane Races::take_lane() {
  if (retired_.size() > most_retired) host_saw(lanes_[retired_.front()].last);
  // What was last done there comes before all that is submitted from now on: the next stream may go
  // on counting from there.
  if (!retired_.empty() && host_.comes_after(lanes_[retired_.front()].last)) {
    const Lane lane = retired_.front();
    retired_.pop_front();
    return lane;
  }
  lanes_.emplace_back();
  return static_cast<Lane>(lanes_.size() - 1);
}

Lane Races::lane_of(Operation &operation) {
  auto [found, is_new] = operation.stream->lanes.try_emplace(operation.branch, host_lane);
  if (is_new) {
    const Lane lane = take_lane();
    found->second = lane;
    lanes_[lane].last.lane = lane;
    lanes_[lane].context = operation.stream->context;
  }
  return found->second;
}

void Races::retire(Stream &stream) {
  for (auto &[branch, lane] : stream.lanes) retired_.push_back(lane);
  stream.lanes.clear();
}

bool Races::settled(const Step &step) const {
  // A host function makes its uses known when it runs, at its own place in logical time.
  return host_.comes_after(step.moment) && host_functions_.size() < 16 &&
         std::all_of(
             host_functions_.begin(), host_functions_.end(),
             [&](auto &running) { return running.second->moment.comes_after(step.moment); });
}

bool Races::is_settled(const OperationPtr &operation) const {
  return !operation || !operation->step || host_.comes_after(operation->step->moment);
}

void Races::submitted(Operation &operation) {
  if (!on_) return;
  const Lane lane = lane_of(operation);
  Moment moment = lanes_[lane].last;
  for (auto &before : operation.waits_for)
    if (before->step) moment.learn(before->step->moment);
  moment.learn(host_);
  ++moment.tick;
  lanes_[lane].last = moment;
  auto step = std::make_shared<Step>();
  step->moment = std::move(moment);
  step->number = operation.id;
  step->call = thread_state().call;
  step->what = operation.what;
  step->line = line_of(*operation.stream);
  operation.step = step;
  if (operation.host_function) host_functions_.emplace(operation.id, step);
  for (auto &access : operation.accesses) use(step, access, effect_of(access));
}

void Races::host_saw(const Moment &moment) {
  if (host_.comes_after(moment)) return;
  host_.learn(moment);
  host_.host = ++host_.tick;
}

void Races::host_saw(const Operation &operation) {
  if (operation.step) host_saw(operation.step->moment);
}

void Races::host_function_returned(const Operation &operation) {
  host_functions_.erase(operation.id);
  host_saw(operation);
}

void Races::host_saw(const std::vector<Moment> &moments) {
  for (auto &moment : moments) host_saw(moment);
}

std::vector<Moment> Races::reached(const Chosen &chosen) const {
  std::vector<Moment> moments;
  for (auto &lane : lanes_)
    if (lane.context && chosen(*lane.context)) moments.push_back(lane.last);
  return moments;
}

// The next point of the host's own line, or the host function that runs here.
StepPtr Races::here() {
  if (thread_state().running) return thread_state().running;
  host_.host = ++host_.tick;
  auto step = std::make_shared<Step>();
  step->moment = host_;
  step->call = thread_state().call;
  step->line = "the host";
  return step;
}

void Races::host_uses(const Access &access) {
  if (on_) use(here(), access, effect_of(access));
}

void Races::host_frees(Allocation &allocation) {
  if (!on_) return;
  if (!allocation.history) allocation.history = std::make_shared<History>();
  // The report needs an owner; this one lives as long as the call.
  const AllocationPtr borrowed(&allocation, [](Allocation *) {});
  use(here(), borrowed, *allocation.history, 0, allocation.size, Effect::frees);
}

void Races::use(const StepPtr &step, const Access &access, Effect effect) {
  History *history = &pageable_;
  std::uintptr_t begin = access.begin;
  if (access.allocation) {
    if (!access.allocation->history) access.allocation->history = std::make_shared<History>();
    history = access.allocation->history.get();
    begin = offset_in(*access.allocation, access.begin);
  }
  std::size_t row = access.size, rows = access.rows, slices = access.slices;
  if (rows == 1 || access.pitch == row) {  // without gaps
    row *= rows;
    rows = 1;
    if (slices == 1 || access.slice_pitch == row) {
      row *= slices;
      slices = 1;
    }
  }
  for (std::size_t z = 0; z < slices; ++z)
    for (std::size_t y = 0; y < rows; ++y)
      use(step, access.allocation, *history, begin + z * access.slice_pitch + y * access.pitch, row,
          effect);
}

void Races::use(const StepPtr &step, const AllocationPtr &allocation, History &history,
                std::uintptr_t begin, std::size_t size, Effect effect) {
  const Use mine{step, effect};
  const std::uintptr_t shown = begin + (allocation ? allocation->address : 0);
  const auto race_with = [&](const Use &other) {
    report_.found({other, mine, allocation, shown, shown + size});
  };
  if (history.freed) {
    race_with({history.freed, Effect::frees});
    return;
  }
  const bool writes = effect != Effect::reads;
  const Moment &now = step->moment;
  // Only what a host function uses can come before what was submitted earlier.
  const auto ordered = [&](const Use &other) {
    return now.comes_after(other.step->moment) || other.step->moment.comes_after(now);
  };
  const auto outlived = [&](const Use &other) {
    return now.comes_after(other.step->moment) || settled(*other.step);
  };
  History::UsesPtr last_before, last_after;
  history.change(begin, begin + size, [&](const History::UsesPtr &before) -> History::UsesPtr {
    if (last_after && before == last_before) return last_after;
    Uses after = before ? *before : Uses{};
    for (auto &other : after.writers)
      if (!ordered(other)) race_with(other);
    if (writes)
      for (auto &other : after.readers)
        if (!ordered(other)) race_with(other);
    const bool superseded = std::any_of(
        after.writers.begin(), after.writers.end(),
        [&](auto &other) { return other.step != step && other.step->moment.comes_after(now); });
    std::erase_if(after.readers, outlived);
    if (writes)
      std::erase_if(after.writers, outlived);
    else
      std::erase_if(after.writers, [&](auto &other) { return settled(*other.step); });
    if (!superseded && !settled(*step)) (writes ? after.writers : after.readers).push_back(mine);
    last_before = before;
    last_after = nullptr;
    if (!after.writers.empty() || !after.readers.empty())
      last_after = std::make_shared<Uses>(std::move(after));
    return last_after;
  });
  if (effect == Effect::frees) history.freed = step;
  if (history.sweep_is_due())
    history.sweep([&](const History::UsesPtr &before) -> History::UsesPtr {
      Uses after = *before;
      const auto gone = [&](auto &other) { return settled(*other.step); };
      if (std::erase_if(after.writers, gone) + std::erase_if(after.readers, gone) == 0)
        return before;
      if (after.writers.empty() && after.readers.empty()) return nullptr;
      return std::make_shared<Uses>(std::move(after));
    });
}

void Races::forget(const std::vector<AllocationPtr> &allocations) {
  host_saw(reached([](const Context &) { return true; }));
  for (auto &allocation : allocations) allocation->history = nullptr;
  pageable_ = History{};
  report_.forget();
}

}  // namespace simcuda
