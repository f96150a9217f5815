// SPDX-License-Identifier: BSD-3-Clause
// A launch from its beginning to what came of it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <thread>

#include "warp.h"

namespace simcuda::kernel {
namespace {

constexpr std::size_t most_findings = 64;   // that are told apart
constexpr std::uint64_t slice = 1 << 14;    // instructions of a warp, between two looks around
constexpr std::size_t most_resident = 16;   // blocks at once, where the launch is not cooperative
constexpr std::uint64_t rounds_alone = 64;  // slices of a block before another one begins
constexpr std::uint64_t most_cooperative = 8192;
// Instructions of all threads, between two questions whether the launch is to end.
constexpr std::uint64_t between_questions = 1 << 18;

std::uint32_t rounded(std::uint64_t value, std::uint32_t to) {
  return static_cast<std::uint32_t>((value + to - 1) / to * to);
}

}  // namespace

LaunchState::LaunchState(const Module &its_module, const Kernel &its_kernel,
                         const Launch &its_launch, Environment &its_environment)
    : module(its_module),
      code(*its_module.code),
      kernel(its_kernel),
      launch(its_launch),
      environment(its_environment),
      intervals((its_launch.block[0] * its_launch.block[1] * its_launch.block[2] + 31) / 32) {
  std::uint64_t all = 1;
  blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (!launch.block[i] || !launch.grid[i])
      throw Invalid(0, "a launch has at least one block of one thread");
    all *= std::min(launch.block[i], 2048u);
    blocks *= launch.grid[i];
  }
  if (all > 1024) throw Invalid(0, "a block has at most 1024 threads");
  if (launch.parameters.size() != kernel.parameter_bytes)
    throw Invalid(0, "'" + kernel.name.substr(0, 80) + "' takes " +
                         std::to_string(kernel.parameter_bytes) + " bytes of parameters, not " +
                         std::to_string(launch.parameters.size()));
  threads = static_cast<std::uint32_t>(all);
  warps = (threads + lanes_of_warp - 1) / lanes_of_warp;
  entry = code.function_by_name.at(kernel.name);
  const SharedLayout &layout = code.layouts[entry];
  if (launch.shared_bytes > 1 << 24) throw Invalid(0, "a block has not so much shared memory");
  shared_bytes = layout.bytes + launch.shared_bytes;
  // Compilers widen loads, to the end of what hardware would hand out.
  shared_room = rounded(shared_bytes, 128);
  races = launch.checks.races;
  if (launch.cooperative) grid_barrier = Bytes(64);
  std::uint32_t count = 0;
  for (const Body &body : code.bodies) {
    first_instruction.push_back(count);
    count += static_cast<std::uint32_t>(body.instructions.size());
  }
  fill_bank();
}

void LaunchState::fill_bank() {
  bank = Bytes(code.launch_bytes);
  const auto set = [&](std::uint32_t offset, auto value_of) {
    for (std::uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
      const auto value = value_of(lane);
      std::memcpy(bank.data() + offset + lane * sizeof value, &value, sizeof value);
    }
  };
  const auto set_all = [&](std::uint32_t offset, auto value) {
    set(offset, [=](std::uint32_t) { return value; });
  };
  for (std::uint32_t i = 0; i < 3; ++i) {
    set_all(launch_bank::ntid_x + i * 128, launch.block[i]);
    set_all(launch_bank::nctaid_x + i * 128, launch.grid[i]);
  }
  set(launch_bank::laneid, [](std::uint32_t lane) { return lane; });
  set(launch_bank::lanemask_eq, [](std::uint32_t lane) { return 1u << lane; });
  set(launch_bank::lanemask_le, [](std::uint32_t lane) { return (2u << lane) - 1; });
  set(launch_bank::lanemask_lt, [](std::uint32_t lane) { return (1u << lane) - 1; });
  set(launch_bank::lanemask_ge, [](std::uint32_t lane) { return ~((1u << lane) - 1); });
  set(launch_bank::lanemask_gt, [](std::uint32_t lane) { return ~((2u << lane) - 1); });
  set_all(launch_bank::nwarpid, warps);
  set_all(launch_bank::one, 1u);
  set_all(launch_bank::total_smem, shared_room);
  set_all(launch_bank::dynamic_smem, launch.shared_bytes);
  set_all(launch_bank::warp_size, lanes_of_warp);
  set_all(launch_bank::gridid32, static_cast<std::uint32_t>(launch.grid_id));
  set_all(launch_bank::gridid, launch.grid_id);
  if (launch.cooperative) {
    const auto address = reinterpret_cast<std::uintptr_t>(grid_barrier.data());
    set_all(launch_bank::envreg1, static_cast<std::uint32_t>(address >> 32));
    set_all(launch_bank::envreg2, static_cast<std::uint32_t>(address));
  }
  const Program &program = *module.program;
  for (const SymbolUse &use : code.symbols) {
    std::uint64_t address = 0;
    if (use.function >= 0) {
      address = function_base + (static_cast<std::uint64_t>(use.function) + 1) * function_step;
    } else {
      const Variable &variable = program.variables[use.variable];
      if (variable.space == Space::shared) {
        const auto &offsets = code.layouts[entry].offsets;
        auto own = offsets.find(use.variable);
        if (own == offsets.end()) continue;  // of another kernel
        address = own->second;
      } else if (const Variable *defined = module.variable(variable.name)) {
        // By the name: what is extern here may be defined by another declaration.
        address = environment.address_of(*defined);
      } else {
        continue;
      }
    }
    address += use.addend;
    if (use.bits == 64)
      set_all(use.offset, address);
    else
      set_all(use.offset, static_cast<std::uint32_t>(address));
  }
}

Place LaunchState::place_of(int function, std::uint32_t pc) const {
  const Body &body = code.bodies[function];
  Place place;
  place.kernel = kernel.name;
  place.function = body.name;
  if (pc >= body.sources.size()) return place;
  const Source &source = body.sources[pc];
  place.ptx_line = source.line;
  place.line = source.source_line;
  place.instruction = code.spellings[source.text];
  auto file = module.program->files.find(source.file);
  if (source.source_line && file != module.program->files.end()) place.file = file->second;
  return place;
}

Place LaunchState::place_of(std::uint32_t instruction) const {
  auto after = std::upper_bound(first_instruction.begin(), first_instruction.end(), instruction);
  const auto function = static_cast<int>(after - first_instruction.begin()) - 1;
  return place_of(function, instruction - first_instruction[function]);
}

Thread LaunchState::thread_at(std::uint64_t block, std::uint32_t thread) const {
  const std::uint32_t *grid = launch.grid, *size = launch.block;
  Thread made;
  made.block[0] = static_cast<std::uint32_t>(block % grid[0]);
  made.block[1] = static_cast<std::uint32_t>(block / grid[0] % grid[1]);
  made.block[2] = static_cast<std::uint32_t>(block / grid[0] / grid[1]);
  made.thread[0] = thread % size[0];
  made.thread[1] = thread / size[0] % size[1];
  made.thread[2] = thread / size[0] / size[1];
  return made;
}

bool Worker::known(FindingKind kind, std::uint32_t instruction) {
  std::lock_guard lock(launch.mutex);
  auto found = launch.found.find({instruction, kind});
  if (found == launch.found.end()) {
    if (launch.outcome.findings.size() < most_findings) return false;
    ++launch.outcome.findings_left_out;
    return true;
  }
  ++launch.outcome.findings[found->second].count;
  return true;
}

void Worker::find_out(Finding finding, std::uint32_t instruction) {
  std::lock_guard lock(launch.mutex);
  auto [found, fresh] =
      launch.found.try_emplace({instruction, finding.kind}, launch.outcome.findings.size());
  if (fresh)
    launch.outcome.findings.push_back(std::move(finding));
  else
    ++launch.outcome.findings[found->second].count;
}

void Worker::count(std::uint64_t instructions) {
  counted_ += instructions;
  const std::uint64_t all =
      launch.instructions.fetch_add(instructions, std::memory_order_relaxed) + instructions;
  if (launch.launch.most_instructions && all > launch.launch.most_instructions)
    throw Failed{FaultKind::limit, 0, 0, 0, false, Space::generic, {}};
  if (counted_ > between_questions) {
    counted_ = 0;
    if (launch.environment.stopped())
      throw Failed{FaultKind::stopped, 0, 0, 0, false, Space::generic, {}};
  }
}

void Worker::fail(const Failed &failed, const Warp &warp) {
  launch.stop = true;
  std::lock_guard lock(launch.mutex);
  if (launch.outcome.fault) return;
  Fault fault;
  fault.kind = failed.kind;
  // Where it was about to go on, if it was stopped between two instructions.
  const bool between = failed.kind == FaultKind::limit || failed.kind == FaultKind::stopped;
  if (warp.frame) fault.place = launch.place_of(warp.frame->function, warp.pc - !between);
  fault.thread = warp.thread_of(failed.lane);
  fault.address = failed.address;
  fault.size = failed.size;
  fault.write = failed.write;
  fault.space = failed.space;
  fault.detail = failed.detail;
  launch.outcome.fault = std::move(fault);
}

// Blocks one after the other. One that does not end, since it may wait for another, lets others
// begin beside it; those of a cooperative launch are all there from the beginning.
void Worker::run() {
  std::vector<std::unique_ptr<Block>> idle;
  std::deque<std::unique_ptr<Block>> resident;
  const bool cooperative = launch.launch.cooperative;
  const auto begin_one = [&] {
    const std::uint64_t next = launch.next_block.fetch_add(1);
    if (next >= launch.blocks) return false;
    if (idle.empty()) idle.push_back(std::make_unique<Block>(*this));
    resident.push_back(std::move(idle.back()));
    idle.pop_back();
    resident.back()->alone = false;
    resident.back()->begin(next);
    return true;
  };
  try {
    if (cooperative)
      while (begin_one()) {
      }
    for (;;) {
      if (resident.empty() && !begin_one()) break;
      if (launch.stop) break;
      Block &block = *resident.front();
      block.alone =
          resident.size() == 1 && launch.launch.threads <= 1 && !cooperative && !ever_several_;
      const std::uint64_t rounds = cooperative ? 1 : rounds_alone;
      bool ended = false;
      for (std::uint64_t round = 0; round < rounds && !ended; ++round) ended = block.run(slice);
      if (ended) {
        idle.push_back(std::move(resident.front()));
        resident.pop_front();
        continue;
      }
      if (!cooperative && resident.size() < most_resident && begin_one()) ever_several_ = true;
      std::rotate(resident.begin(), resident.begin() + 1, resident.end());
    }
  } catch (const Failed &failed) {
    fail(failed, *running);
  } catch (...) {
    // The environment's, or no memory: whoever called is told once all workers have stopped.
    launch.stop = true;
    std::lock_guard lock(launch.mutex);
    launch.thrown = std::current_exception();
  }
  hand_over();
}

namespace {

// The parameters that are an address in one of these windows.
int parameter_into(const LaunchState &launch, const Window &window) {
  int found = -1;
  for (std::size_t i = 0; i < launch.kernel.parameters.size(); ++i) {
    const Parameter &parameter = launch.kernel.parameters[i];
    for (std::uint32_t at = (parameter.offset + 7) / 8 * 8;
         at + 8 <= parameter.offset + parameter.size; at += 8) {
      std::uint64_t value;
      std::memcpy(&value, launch.launch.parameters.data() + at, sizeof value);
      if (value < window.begin || value >= window.end) continue;
      if (found >= 0 && found != static_cast<int>(i)) return -1;
      found = static_cast<int>(i);
    }
  }
  return found;
}

}  // namespace

void Worker::hand_over() {
  std::lock_guard lock(launch.mutex);
  const auto add = [&](const View &view) {
    if (view.window.bytes == launch.grid_barrier.data()) return;
    const int parameter = parameter_into(launch, view.window);
    const auto add_set = [&](const ByteSet &set, Use use, std::uint32_t instruction) {
      if (set.empty()) return;
      const auto place = static_cast<std::uint32_t>(launch.outcome.places.size());
      launch.outcome.places.push_back(launch.place_of(instruction));
      set.ranges([&](std::uint64_t begin, std::uint64_t end) {
        launch.outcome.accesses.push_back(
            {view.window.begin + begin, view.window.begin + end, use, parameter, place});
      });
    };
    add_set(view.reads, Use::reads, view.read_at);
    add_set(view.writes, Use::writes, view.written_at);
    add_set(view.atomics, Use::atomic, view.updated_at);
  };
  for (auto &view : memory.views()) add(*view);
  for (auto &view : memory.gone()) add(*view);
}

namespace {

// Several workers may have used the same bytes.
void join_accesses(std::vector<Access> &accesses) {
  std::sort(accesses.begin(), accesses.end(), [](const Access &a, const Access &b) {
    return std::tie(a.use, a.begin, a.end) < std::tie(b.use, b.begin, b.end);
  });
  std::vector<Access> joined;
  for (const Access &each : accesses) {
    if (!joined.empty() && joined.back().use == each.use && each.begin <= joined.back().end &&
        joined.back().parameter == each.parameter)
      joined.back().end = std::max(joined.back().end, each.end);
    else
      joined.push_back(each);
  }
  accesses = std::move(joined);
}

}  // namespace

Outcome run(const Module &module, const Kernel &kernel, const Launch &launch,
            Environment &environment) {
  LaunchState state(module, kernel, launch, environment);
  if (launch.cooperative && state.blocks > most_cooperative)
    throw Invalid(
        0, "a cooperative launch has at most " + std::to_string(most_cooperative) + " blocks");
  // The blocks of a cooperative launch wait for each other: one worker has them all.
  const std::uint64_t workers =
      launch.cooperative ? 1 : std::clamp<std::uint64_t>(launch.threads, 1, state.blocks);
  if (workers == 1) {
    Worker(state).run();
  } else {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < workers; ++i)
      threads.emplace_back([&state] { Worker(state).run(); });
    for (std::thread &thread : threads) thread.join();
    join_accesses(state.outcome.accesses);
  }
  if (state.thrown) std::rethrow_exception(state.thrown);
  state.outcome.instructions = state.instructions;
  return std::move(state.outcome);
}

}  // namespace simcuda::kernel
