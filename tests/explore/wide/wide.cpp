// SPDX-License-Identifier: BSD-3-Clause
// Explores widely: random programs of parties that follow the rules of cai.h, with all that the
// model does not know (captures, graphs, several arrays, views, orders, ends of other kinds,
// streams that go), and simcuda as the judge. A program is right if
//
// - nothing races, the memory's reuse after the release among it;
// - every owner ends once, and none is left;
// - every capture ends well;
// - libcai refuses with CAI_ERR_CAPTURE and CAI_ERR_ORDER only, and nothing once all captures have
//   ended;
// - the host waits only where that is asked for.
//
//   wide random COUNT SEED   COUNT programs
//   wide hunt COUNT SEED     the same until the first that is wrong
//   wide replay FILE         the programs of a file, a line of numbers each
//
// A step is six numbers; what they mean depends on what there is by then, and one that the rules
// forbid by then is left out. So every part of a program is a program, which makes shrinking easy.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <thread>

#include "must.h"
#include "parties.hpp"

namespace wide {
namespace {

using Program = std::vector<Step>;

constexpr int kSteps = 24;  // at most, and at least 4

// What is drawn more often than the rest stands here more often.
constexpr void (*kDrawn[])(World &, const Step &) = {
    make,          make,           begin,         begin,         begin,
    begin,         begin,          end,           end,           end,
    end,           finish,         abandon,       produce,       produce,
    publish_on,    view,           publish_event, release,       release,
    release_on,    same_stream,    sync_host,     drain,         ask_pending,
    begin_capture, begin_capture,  end_capture,   end_capture,   join,
    launch,        replace_stream, ask_pending,   change_thread, end_thread,
    fail,          fail,           begin_without, begin_without, open_guest,
    end_guest};

// The end of a program: all that is open ends.
void close(World &world) {
  world.thread = 0;
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
  for (Graph &graph : world.graphs) {
    if (graph.runnable) MUST(cu().cuGraphExecDestroy(graph.runnable));
    MUST(cu().cuGraphDestroy(graph.graph));
  }
  for (int i = World::kArrays; i-- > 0;) {
    if (world.arrays[i].there) let_go(world, i);
  }
  // What can be known to be complete by now ends, before the host has waited for everything.
  for (int i = 0; i < 3; ++i) MUST(cai_drain(0, nullptr, nullptr));
  // What graphs have held goes once they have run, on a thread of the driver's.
  MUST(cu().cuCtxSynchronize());
  const bool has_guest = machine().guest;
  if (has_guest) machine().in_guest([] { MUST(cu().cuCtxSynchronize()); });
  for (int tries = 0; tries < 4000; ++tries) {
    if (tries > 10) std::this_thread::sleep_for(std::chrono::microseconds(500));
    MUST(cai_drain(1, nullptr, nullptr));
    if (has_guest) machine().in_guest([] { MUST(cai_drain(1, nullptr, nullptr)); });
    if (std::none_of(std::begin(world.blocks), std::end(world.blocks),
                     [](const Block &block) { return block.alive; })) {
      return;
    }
  }
  world.fail("an owner has not ended");
}

// What is wrong with the program; empty if nothing is.
std::string run(const Program &program, bool tells = false) {
  World world(tells);
  for (const Step &step : program) {
    machine().threads.run(world.thread, [&] { kDrawn[step[0] % std::size(kDrawn)](world, step); });
    world.check();
    if (!world.problem.empty()) break;
  }
  close(world);
  world.check();
  return world.problem;
}

std::string text_of(const Program &program) {
  std::string text;
  for (const Step &step : program) {
    for (const unsigned number : step) text += std::to_string(number) + " ";
  }
  return text;
}

Program program_of(const std::string &text) {
  std::istringstream in(text);
  Program program;
  for (Step step; in >> step[0];) {
    for (std::size_t i = 1; i < step.size(); ++i) in >> step[i];
    program.push_back(step);
  }
  return program;
}

// Leaves out what the problem does not need.
Program shrink(Program program, const std::string &problem) {
  for (bool less = true; less;) {
    less = false;
    for (std::size_t i = program.size(); i-- > 0;) {
      Program shorter = program;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      if (run(shorter) != problem) continue;
      program = std::move(shorter);
      less = true;
    }
  }
  return program;
}

long drawn = 0;  // so far: the process may end in the middle of a program

bool tell(const Program &program, const std::string &problem) {
  const Program shrunk = shrink(program, problem);
  std::printf("# %s: %s\n# shrunk to %zu steps\n", problem.c_str(), text_of(shrunk).c_str(),
              shrunk.size());
  static_cast<void>(run(shrunk, true));
  return false;
}

bool random(long count, std::uint64_t seed, bool hunts) {
  if (hunts) std::atexit([] { std::printf("# hunted %ld programs at random\n", drawn); });
  std::mt19937_64 draw(seed);
  long wrong = 0;
  for (drawn = 0; drawn < count && !(hunts && wrong);) {
    ++drawn;
    Program program(4 + draw() % (kSteps - 3));
    for (Step &step : program) {
      for (unsigned &number : step) number = static_cast<unsigned>(draw() % 1000);
    }
    const std::string problem = run(program, std::getenv("WIDE_TELL"));
    if (!problem.empty() && ++wrong <= 5) tell(program, problem);
  }
  std::printf("%s 1 - %ld programs, drawn by seed %llu: %ld are wrong\n1..1\n",
              wrong ? "not ok" : "ok", count, static_cast<unsigned long long>(seed), wrong);
  return wrong == 0;
}

bool replay(const char *name) {
  std::ifstream file(name);
  if (!file) std::perror(name);
  bool good = !!file;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string problem = run(program_of(line));
    if (!problem.empty()) good = tell(program_of(line), problem);
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
  const bool hunts = what == "hunt";
  if ((what != "random" && !hunts) || count < 1) return 2;
  return !wide::random(count, argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1, hunts);
}
