// SPDX-License-Identifier: BSD-3-Clause
// usage: mutants SEEDS
//
// Runs every scenario as it is, and once more for each of its ordering calls, which is dropped:
// under the lazy schedule and so many random ones. Prints, for check_mutants.py to judge:
//
//     scenario NAME SCHEDULE
//     call FUNCTION EXPECTED OFFSET...   for each call: its stack, the innermost first
//     run RACES REFUSED FINISHED         with none dropped, with the first one dropped, and so on
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "scenario.hpp"
#include "watch.hpp"

namespace mutants {

Scenario *Scenario::first = nullptr;

namespace {

// simcuda does not outlive a fork: nobody has called it so far, and the parent never will.
void run(const Scenario &scenario, const std::string &schedule, int dropped) {
  *outcome = {};
  const pid_t child = fork();
  if (child == 0) {
    MUST(setenv("SIMCUDA_SCHEDULE", schedule.c_str(), 1));
    MUST(setenv("SIMCUDA_RACES", "count", 1));
    watch(dropped);
    MUST(gpu().cuDevicePrimaryCtxRetain(&context0, 0));
    MUST(gpu().cuDevicePrimaryCtxRetain(&context1, 1));
    MUST(gpu().cuCtxSetCurrent(context0));
    scenario.run();
    outcome->races = gpu().simcuda_races();
    outcome->finished = 1;
    _exit(0);
  }
  int status = 0;
  MUST_BE(waitpid(child, &status, 0), child);
  std::printf("run %" PRIu64 " %d %d\n", outcome->races, outcome->refused,
              outcome->finished && status == 0);
}

// The calls may depend on the results of queries, and so on the schedule.
void run_all(const Scenario &scenario, const std::string &schedule) {
  std::printf("scenario %s %s\n", scenario.name, schedule.c_str());
  run(scenario, schedule, -1);
  const int calls = outcome->calls;
  for (int index = 0; index < calls; ++index) {
    const Call &call = outcome->call[index];
    std::printf("call %s %d", call.function, static_cast<int>(call.expected));
    for (int frame = 0; frame < call.depth; ++frame) std::printf(" %" PRIx64, call.frames[frame]);
    std::printf("\n");
  }
  for (int index = 0; index < calls; ++index) run(scenario, schedule, index);
}

}  // namespace

void answered(int result) {
  if (result && !outcome->refused) outcome->refused = result;
}

static void expect(int nth, Expected expected) {
  if (outcome->calls + nth < most_calls) outcome->call[outcome->calls + nth].expected = expected;
}

void implied(int nth) {
  expect(nth, Expected::nothing);
}

void refuses_later(int nth) {
  expect(nth, Expected::refusal);
}

bool is_lazy() {
  return std::strcmp(std::getenv("SIMCUDA_SCHEDULE"), "lazy") == 0;
}

}  // namespace mutants

int main(int count, char **arguments) {
  using namespace mutants;
  if (count < 2) return 2;
  void *const shared =
      mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  outcome = static_cast<Outcome *>(shared);
  setvbuf(stdout, nullptr, _IOLBF, 0);  // a child must not find anything to write again
  for (const Scenario *each = Scenario::first; each; each = each->next) {
    run_all(*each, "lazy");
    for (int seed = 1; seed <= std::atoi(arguments[1]); ++seed) {
      run_all(*each, "random:" + std::to_string(seed));
    }
  }
  return 0;
}
