// SPDX-License-Identifier: BSD-3-Clause
// Explores widely: random programs of parties that follow the rules of cai.h, with all that the
// model does not know (captures, graphs, several arrays, views, orders, ends of other kinds,
// streams that go), and simcuda as the judge. A program is right if
//
// - nothing races, the memory's reuse after the release among it;
// - every owner ends once, and none is left;
// - every capture ends well;
// - libcai refuses with CAI_ERR_CAPTURE and CAI_ERR_ORDER only, and nothing once all captures have
//   ended, nor an end in the capture that the use and all its arrays' streams are in;
// - the host waits only where that is asked for.
//
//   wide random COUNT SEED   COUNT programs
//   wide hunt COUNT SEED     the same until the first that is wrong
//   wide pairs COUNT SEED    what has met in as many: a table of calls, and two of streams
//   wide replay FILE         the programs of a file, one a line: alphabet.hpp
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "alphabet.hpp"
#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

constexpr unsigned kSteps = 24;  // at most, and at least 4

// The end of a program: all that is open ends.
void close(World &world) {
  world.thread = 0;
  world.is_in_guest = false;
  world.fault.forget();
  for (int round = 0; round < 3; ++round) {
    for (Use &use : world.uses) {
      if (!use.open) continue;
      const bool is_gone = use.thread == kGoneThread;
      world.on_thread(use.thread == 1,
                      [&] { end_use(world, use, is_gone ? Ending::abandon : Ending::end, false); });
    }
    for (Capture &capture : world.captures) {
      const bool forked = std::any_of(std::begin(world.uses), std::end(world.uses),
                                      [](const Use &use) { return use.open && use.is_forked; });
      if (!capture.on || forked) continue;
      world.on_thread(capture.thread, [&] { close_capture(world, capture); });
    }
  }
  for (Use &use : world.uses) {
    if (!use.open) continue;
    world.fail(std::string("a use cannot be ended: ") + world.error.message);
    cai_use_abandon(&use.use);
    use.open = false;
  }
  // What they have captured is checked when it runs.
  for (unsigned i = 0; i < world.graphs.size(); ++i) launch(world, {0, i, kFirstHandle + 2, 0});
  for (Use &use : world.uses) {
    if (use.open) end_use(world, use, Ending::end, false);
  }
  for (Graph &graph : world.graphs) {
    if (graph.runnable) MUST(cu().cuGraphExecDestroy(graph.runnable));
    MUST(cu().cuGraphDestroy(graph.graph));
  }
  for (Block &block : world.blocks) cai_memory_release(std::exchange(block.memory, nullptr));
  for (int i = World::kArrays; i-- > 0;) {
    if (world.arrays[i].there) let_go(world, i);
  }
  for (Tensor &tensor : world.tensors) {
    if (!tensor.held) continue;
    world.on_thread(tensor.stream == kPerThread + 1, [&] { let_tensor_go(world, tensor); });
  }
  // Ends what is known to be complete before the host has waited for everything.
  for (int i = 0; i < 3; ++i) MUST(cai_drain(0, nullptr, nullptr));
  // Objects that graphs have held are released after they have run, on a thread of the driver.
  MUST(cu().cuCtxSynchronize());
  const bool has_guest = machine().guest;
  if (has_guest) machine().in_guest([] { MUST(cu().cuCtxSynchronize()); });
  // A machine may be busy; but once an owner was found never to end, others are shrunk soon.
  static std::chrono::milliseconds limit{20000};
  const auto begun = std::chrono::steady_clock::now();
  for (int tries = 0; std::chrono::steady_clock::now() - begun < limit; ++tries) {
    if (tries > 10) std::this_thread::sleep_for(std::chrono::microseconds(500));
    MUST(cai_drain(1, nullptr, nullptr));
    free_refused();
    if (has_guest) machine().in_guest([] { MUST(cai_drain(1, nullptr, nullptr)); });
    if (std::none_of(std::begin(world.blocks), std::end(world.blocks),
                     [](const Block &block) { return block.alive; })) {
      return;
    }
  }
  limit = std::chrono::milliseconds(200);
  world.fail("an owner has not ended");
}

// Runs the steps from `next`; returns the error, or empty.
template <class Next>
std::string run_all(bool tells, const Next &next) {
  World world(tells);
  while (const std::optional<Step> step = next(world)) {
    machine().threads.run(world.thread, [&] { run_step(world, *step); });
    world.check();
    if (!world.problem.empty()) break;
  }
  close(world);
  world.check();
  return world.problem;
}

std::string run(const Program &program, bool tells = false) {
  auto step = program.begin();
  return run_all(tells, [&](const World &) {
    return step == program.end() ? std::optional<Step>{} : std::optional<Step>{*step++};
  });
}

// Leaves out what the problem does not need.
Program shrink(Program program, const std::string &problem) {
  for (bool less = true; less;) {
    less = false;
    const auto attempt = [&](Program other) {
      if (run(other) != problem) return;
      program = std::move(other);
      less = true;
    };
    for (std::size_t i = program.size(); i-- > 0;) {
      Program shorter = program;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      attempt(shorter);
    }
    for (std::size_t i = 0; i < program.size(); ++i) {
      for (std::size_t operand = 0; operand + 1 < program[i].size(); ++operand) {
        Program other = program;
        other[i] = simpler(other[i], operand);
        if (other != program) attempt(other);
      }
    }
  }
  return program;
}

void tell(const Program &program, const std::string &problem) {
  const Program shrunk = shrink(program, problem);
  std::printf("# %s:\n%s\n", problem.c_str(), text_of(shrunk).c_str());
  std::printf("# shrunk to %zu steps\n", shrunk.size());
  static_cast<void>(run(shrunk, true));
}

long drawn = 0;   // so far
Program program;  // that is being drawn, and run

// The process may end in the middle of a program, where something fails that must not.
void tell_last() {
  if (!program.empty())
    std::printf("# ended in program %ld:\n%s\n", drawn, text_of(program).c_str());
}

// Returns how many are wrong; at most one if it hunts.
long run_random(long count, std::uint64_t seed, bool hunts = false) {
  Drawer drawer(seed);
  const bool tells = std::getenv("WIDE_TELL");
  long wrong = 0;
  for (drawn = 0; drawn < count && !(hunts && wrong);) {
    ++drawn;
    program.clear();
    drawer.begin();
    unsigned left = 4 + drawer.number(kSteps - 3);
    const std::string problem = run_all(tells, [&](const World &world) {
      if (left-- == 0) return std::optional<Step>{};
      program.push_back(drawer.step(world));
      return std::optional<Step>{program.back()};
    });
    if (!problem.empty() && ++wrong <= 5) {
      if (!hunts) std::printf("# program %ld\n", drawn);
      tell(program, problem);
    }
  }
  program.clear();
  return wrong;
}

bool random(long count, std::uint64_t seed, bool hunts) {
  if (hunts) std::atexit([] { std::printf("# hunted %ld programs at random\n", drawn); });
  const long wrong = run_random(count, seed, hunts);
  std::printf("%s 1 - %ld programs, drawn by seed %llu: %ld are wrong\n1..1\n",
              wrong ? "not ok" : "ok", count, static_cast<unsigned long long>(seed), wrong);
  return wrong == 0;
}

// The pairs that occurred in this many programs.
bool pairs(long count, std::uint64_t seed) {
  const bool good = run_random(count, seed) == 0;
  return tell_pairs() && good;
}

bool replay(const char *name) {
  std::ifstream file(name);
  if (!file) std::perror(name);
  bool good = !!file;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string problem = run(program_of(line), std::getenv("WIDE_TELL"));
    if (!problem.empty()) {
      tell(program_of(line), problem);
      good = false;
    }
    std::printf("%s %d - %s\n", problem.empty() ? "ok" : "not ok", ++number, line.c_str());
  }
  std::printf("1..%d\n", number);
  return good;
}

}  // namespace
}  // namespace wide

int main(int argc, char **argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const cai_stream_provider provider{sizeof provider, 0, wide::provide, nullptr};
  MUST(cai_provide_streams(&provider, nullptr));
  if (what == "replay") return !wide::replay(argv[2]);
  const long count = argc > 2 ? std::atol(argv[2]) : 0;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (what == "pairs" && count > 0) return !wide::pairs(count, seed);
  const bool hunts = what == "hunt";
  if ((what != "random" && !hunts) || count < 1) return 2;
  std::atexit(wide::tell_last);
  return !wide::random(count, seed, hunts);
}
