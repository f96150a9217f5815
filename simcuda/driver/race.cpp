// SPDX-License-Identifier: BSD-3-Clause
#include "race.h"

#include <algorithm>
#include <utility>

#include "call.h"
#include "trace.h"

namespace simcuda {
namespace {

// A client that never waits for streams that it destroyed keeps this many lanes. Older ones then
// count as waited for, which can hide a race, but not invent one.
constexpr std::size_t most_retired = 1024;

Line line_of(const Stream &stream) {
  const Context &context = *stream.context;
  std::string name;
  if (stream.kind == Stream::Kind::legacy)
    name = "the legacy stream";
  else if (stream.kind == Stream::Kind::per_thread)
    name = "the per-thread stream " + std::to_string(stream.id);
  else
    name = std::string(stream.blocking() ? "blocking" : "non-blocking") + " stream " +
           hex(address_of(stream.handle));
  name += " of context " + hex(address_of(context.handle)) + " (device " +
          std::to_string(context.device) + ')';
  return {name, stream.made_at};
}

std::uintptr_t offset_in(const Allocation &allocation, std::uintptr_t address) {
  const bool by_alias = allocation.alias && address - allocation.alias < allocation.size;
  return address - (by_alias ? allocation.alias : allocation.address);
}

void write_down(const Operation &operation, const Races::Used &used) {
  const char *effect = used.effect == Effect::reads    ? "reads"
                       : used.effect == Effect::writes ? "writes"
                                                       : "updates";
  std::size_t bytes = 0;
  for (auto [begin, end] : used.ranges) bytes += end - begin;
  trace::used(operation, effect, *used.allocation,
              used.allocation->address + used.ranges.front().first, bytes,
              used.detail ? *used.detail : "");
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
  // Its last work comes before all that is submitted from now on, so the next stream may continue
  // its count.
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
    lanes_[lane].line = std::make_shared<Line>(line_of(*operation.stream));
  }
  return found->second;
}

void Races::retire(Stream &stream) {
  for (auto &[branch, lane] : stream.lanes) retired_.push_back(lane);
  stream.lanes.clear();
}

// Whether some work that has not reported its uses yet is not ordered with this step, but comes
// before `until`, if given: then `until` cannot replace the step. In each lane, the first such work
// that does not come before this step knows least.
bool Races::may_race_yet(const Step &step, const Step *until) const {
  for (auto &[lane, steps] : untold_) {
    const auto first = steps.upper_bound(step.moment.known(lane));
    if (first == steps.end() || first->second.get() == until) continue;
    if (until && until->moment.known(lane) < first->first) continue;
    if (!first->second->moment.comes_after(step.moment)) return true;
  }
  return false;
}

bool Races::settled(const Step &step) const {
  return host_.comes_after(step.moment) && !may_race_yet(step, nullptr);
}

bool Races::is_settled(const OperationPtr &operation) const {
  return host_.comes_after(operation->step->moment);
}

Moment Races::after(const std::vector<OperationPtr> &operations) const {
  Moment moment = host_;
  for (auto &operation : operations) moment.learn(operation->step->moment);
  return moment;
}

void Races::submitted(Operation &operation) {
  const Lane lane = lane_of(operation);
  Moment moment = lanes_[lane].last;
  Learning learning(moment, whole_);
  for (auto &before : operation.waits_for) learning.from(before->step->moment);
  for (auto &before : operation.reached) learning.from(before);
  operation.reached.clear();
  moment.learn(host_);
  ++moment.tick;
  lanes_[lane].last = moment;
  if (!std::exchange(lanes_[lane].unsettled, true)) unsettled_.push_back(lane);
  auto step = std::make_shared<Step>();
  step->moment = std::move(moment);
  step->number = operation.id;
  step->call = thread_state().call;
  step->what = operation.what;
  if (operation.kernel) step->what += ' ' + operation.kernel->name();
  step->line = lanes_[lane].line;
  step->site = thread_state().site;
  step->made_at = operation.made_at;
  operation.step = step;
  if (trace::on) trace::submitted(operation);
  if (!on_) return;
  thread_state().last = step;
  step->tells_late = operation.host_function || operation.kernel || operation.inside;
  if (step->tells_late) untold_[lane].emplace(step->moment.tick, step);
  if (operation.inside) return;
  for (auto &access : operation.accesses) use(step, access, effect_of(access));
}

void Races::host_saw(const Moment &moment) {
  if (host_.comes_after(moment)) return;
  if (trace::on) trace::host_saw(moment);
  host_.learn(moment);
  host_.host = ++host_.tick;
}

void Races::host_saw(const std::vector<OperationPtr> &operations) {
  for (auto &operation : operations) host_saw(operation->step->moment);
}

void Races::host_function_begins(const Operation &operation) {
  Moment before = operation.step->moment;
  --before.tick;
  // Even if the host has seen what comes before it in its lane: it may wait for other lanes, too.
  host_.absorb(before);
  host_.host = ++host_.tick;
}

void Races::has_told(const Operation &operation) {
  const Moment &moment = operation.step->moment;
  const auto lane = untold_.find(moment.lane);
  if (lane == untold_.end()) return;
  const auto found = lane->second.find(moment.tick);
  if (found == lane->second.end() || found->second != operation.step) return;
  lane->second.erase(found);
  if (lane->second.empty()) untold_.erase(lane);
}

void Races::ran(const Operation &operation, const std::vector<Used> &used) {
  has_told(operation);
  if (trace::on)
    for (const Used &each : used) write_down(operation, each);
  if (!on_) return;
  for (const Used &each : used)
    use(*each.history, each.allocation, {operation.step, each.effect, each.detail},
        [&](const auto &range) {
          for (auto [begin, end] : each.ranges) range(begin, end);
        });
}

void Races::ran(const Operation &operation) {
  has_told(operation);
  if (!on_) return;
  for (auto &access : operation.accesses) use(operation.step, access, effect_of(access));
}

std::shared_ptr<History> Races::history_of(Allocation &allocation) const {
  if (on_ && !allocation.history) allocation.history = std::make_shared<History>();
  return on_ ? allocation.history : nullptr;
}

void Races::host_function_returned(const Operation &operation) {
  has_told(operation);
  host_saw(operation.step->moment);
}

void Races::host_saw(const std::vector<Moment> &moments) {
  for (auto &moment : moments) host_saw(moment);
}

std::vector<Moment> Races::reached(const Chosen &chosen) {
  std::erase_if(unsettled_, [this](Lane lane) {
    const bool settled = host_.comes_after(lanes_[lane].last);
    if (settled) lanes_[lane].unsettled = false;
    return settled;
  });
  std::vector<Moment> moments;
  for (const Lane lane : unsettled_)
    if (chosen(*lanes_[lane].context)) moments.push_back(lanes_[lane].last);
  return moments;
}

// The next point of the host's own lane, or the host function that runs here.
StepPtr Races::here() {
  if (thread_state().running) return thread_state().running;
  host_.host = ++host_.tick;
  auto step = std::make_shared<Step>();
  step->moment = host_;
  step->call = thread_state().call;
  // Kept forever, as all state: exit() destroys what has a destructor while others may still call.
  static const auto *host = new auto(std::make_shared<const Line>("the host"));
  step->line = *host;
  step->site = thread_state().site;
  thread_state().last = step;
  if (trace::on) trace::host_used(*step);
  return step;
}

void Races::host_uses(const Access &access) {
  if (on_) use(here(), access, effect_of(access));
}

void Races::host_frees(Allocation &allocation) {
  if (!on_) return;
  // The report needs an owner. This one lives as long as the call.
  const AllocationPtr borrowed(&allocation, [](Allocation *) {});
  use(here(), {borrowed, allocation.address, allocation.size, true}, Effect::frees);
}

void Races::names_freed(const AllocationPtr &allocation, std::uintptr_t address, std::size_t size) {
  if (!on_ || !allocation->history || !allocation->history->freed) return;
  report_.found({{allocation->history->freed, Effect::frees},
                 {here(), Effect::names},
                 allocation,
                 address,
                 address + size});
}

void Races::uses_freed(const Operation &operation, const AllocationPtr &allocation,
                       std::uintptr_t address, std::size_t size, Effect effect) {
  if (!on_ || !allocation->history || !allocation->history->freed) return;
  report_.found({{allocation->history->freed, Effect::frees},
                 {operation.step, effect},
                 allocation,
                 address,
                 address + size});
}

void Races::use(const StepPtr &step, const Access &access, Effect effect) {
  std::uintptr_t begin = access.begin;
  History *history = &pageable_;
  if (access.allocation) {
    history = history_of(*access.allocation).get();
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
  use(*history, access.allocation, {step, effect}, [&](const auto &range) {
    for (std::size_t z = 0; z < slices; ++z)
      for (std::size_t y = 0; y < rows; ++y) {
        const std::uintptr_t at = begin + z * access.slice_pitch + y * access.pitch;
        range(at, at + row);
      }
  });
}

template <class Each>
void Races::use(History &history, const AllocationPtr &allocation, const Use &mine,
                const Each &each_range) {
  const std::uintptr_t base = allocation ? allocation->address : 0;
  // Work that reports late may have been submitted first.
  const auto report = [&](const Use &other, std::uintptr_t from, std::uintptr_t to) {
    const Step &theirs = *other.step, &own = *mine.step;
    const bool is_before =
        theirs.by_host() ? !own.moment.comes_after(theirs.moment) : own.number < theirs.number;
    const bool is_first = own.tells_late && is_before;
    report_.found(
        {is_first ? mine : other, is_first ? other : mine, allocation, base + from, base + to});
  };
  // If work reports late, the memory may have been freed after it.
  if (history.freed && !history.freed->moment.comes_after(mine.step->moment)) {
    each_range([&](std::uintptr_t from, std::uintptr_t to) {
      report({history.freed, Effect::frees}, from, to);
    });
    return;
  }

  History::UsesPtr last_before, last_after;  // rows with the same uses stay so
  const History::Change change = [&](const History::UsesPtr &before, std::uintptr_t from,
                                     std::uintptr_t to) {
    if (last_after && before == last_before) return last_after;
    last_before = before;
    last_after = add(before, mine, [&](const Use &other) { report(other, from, to); });
    return last_after;
  };
  each_range([&](std::uintptr_t from, std::uintptr_t to) { history.change(from, to, change); });
  if (mine.effect == Effect::frees) {
    // Later work is compared with the free alone.
    if (untold_.empty()) history = History{};
    history.freed = mine.step;
  }
  if (history.sweep_is_due()) sweep(history);
}

// The uses of bytes after one more use. Reports the earlier uses that race with it.
History::UsesPtr Races::add(const History::UsesPtr &before, const Use &mine,
                            const std::function<void(const Use &)> &races_with) const {
  const Moment &now = mine.step->moment;
  const bool reads = mine.effect == Effect::reads, updates = mine.effect == Effect::updates;
  Uses after = before ? *before : Uses{};
  // The uses of a host function or a kernel can come before those of work submitted later.
  const auto check = [&](const Use &other) {
    if (!now.comes_after(other.step->moment) && !other.step->moment.comes_after(now))
      races_with(other);
  };
  std::for_each(after.writers.begin(), after.writers.end(), check);
  if (!reads) std::for_each(after.readers.begin(), after.readers.end(), check);
  if (!updates) std::for_each(after.updaters.begin(), after.updaters.end(), check);

  const bool outlived = settled(*mine.step) ||
                        std::any_of(after.writers.begin(), after.writers.end(), [&](auto &other) {
                          return other.step != mine.step && other.step->moment.comes_after(now) &&
                                 !may_race_yet(*mine.step, other.step.get());
                        });
  const auto is_settled = [&](const Use &other) { return settled(*other.step); };
  const auto is_outlived = [&](const Use &other) {
    return now.comes_after(other.step->moment) && !may_race_yet(*other.step, mine.step.get());
  };
  // A use can replace another only if it races with everything that the other one races with.
  const auto drop = [&](std::vector<Use> &others, bool can_stand_for) {
    if (can_stand_for)
      std::erase_if(others, is_outlived);
    else
      std::erase_if(others, is_settled);
  };
  drop(after.readers, !updates);
  drop(after.writers, !reads && !updates);
  drop(after.updaters, !reads);
  if (!outlived) (reads ? after.readers : updates ? after.updaters : after.writers).push_back(mine);
  if (after.empty()) return nullptr;
  return std::make_shared<const Uses>(std::move(after));
}

void Races::sweep(History &history) const {
  history.sweep([&](const History::UsesPtr &before, std::uintptr_t, std::uintptr_t) {
    Uses after = *before;
    const auto is_settled = [&](const Use &other) { return settled(*other.step); };
    if (std::erase_if(after.writers, is_settled) + std::erase_if(after.readers, is_settled) +
            std::erase_if(after.updaters, is_settled) ==
        0)
      return before;
    if (after.empty()) return History::UsesPtr{};
    return std::make_shared<const Uses>(std::move(after));
  });
}

std::uint64_t Races::mark(const StepPtr &step) {
  if (!step) return 0;
  if (marks_.empty() || marks_.back() != step) marks_.push_back(step);
  return forgotten_marks_ + marks_.size();
}

StepPtr Races::marked(std::uint64_t mark) const {
  const std::uint64_t place = mark - forgotten_marks_ - 1;
  return place < marks_.size() ? marks_[place] : nullptr;
}

void Races::forget(const std::vector<AllocationPtr> &allocations) {
  host_saw(reached([](const Context &) { return true; }));
  for (auto &allocation : allocations) allocation->history = nullptr;
  pageable_ = History{};
  forgotten_marks_ += marks_.size();
  marks_.clear();
  report_.forget();
}

}  // namespace simcuda
