// SPDX-License-Identifier: BSD-3-Clause
// A launch from its beginning to its outcome.
#include <algorithm>
#include <bit>
#include <cstring>
#include <system_error>
#include <thread>

#include "warp.h"

namespace simcuda::kernel {
namespace {

constexpr std::uint64_t most_cooperative = 8192;
// The instructions of all threads, below which another thread costs more than it saves.
constexpr std::uint64_t worth_a_thread = 1 << 18;

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
  end_block = blocks;
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
  // Compilers widen loads, up to the alignment that hardware would allocate.
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
        // By name: a variable that is extern here may be defined by another declaration.
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

namespace {

std::uint64_t most_workers(const LaunchState &state) {
  // The blocks of a cooperative launch wait for each other, and races are looked for in the order
  // in which blocks run. In both cases one worker has all blocks.
  if (!state.kernel.independent_blocks || state.launch.cooperative || state.races) return 1;
  return std::clamp<std::uint64_t>(state.launch.threads, 1, state.blocks);
}

// Workers beside the first, each on a thread of its own.
class Others {
 public:
  ~Others() { join(); }
  void begin(LaunchState &state, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) try {
        workers_.push_back(std::make_unique<Worker>(state));
        threads_.emplace_back([worker = workers_.back().get()] { worker->run(UINT64_MAX); });
      } catch (const std::system_error &) {
        return;  // no more threads can be started: the existing ones do it all
      }
  }
  const std::vector<std::unique_ptr<Worker>> &join() {
    for (std::thread &thread : threads_) thread.join();
    threads_.clear();
    return workers_;
  }

 private:
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace

Outcome run(const Module &module, const Kernel &kernel, const Launch &launch,
            Environment &environment) {
  LaunchState state(module, kernel, launch, environment);
  if (launch.cooperative && state.blocks > most_cooperative)
    throw Invalid(
        0, "a cooperative launch has at most " + std::to_string(most_cooperative) + " blocks");
  Worker first(state);
  Others others;
  if (const std::uint64_t workers = most_workers(state);
      workers > 1 && !first.run(worth_a_thread)) {
    const std::uint64_t left =
        state.blocks - std::min<std::uint64_t>(state.next_block, state.blocks);
    others.begin(state, std::min(workers - 1, left));
  }
  first.run(UINT64_MAX);
  for (auto &worker : others.join()) first.take_over(*worker);
  return first.outcome();
}

}  // namespace simcuda::kernel
