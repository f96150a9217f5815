// SPDX-License-Identifier: BSD-3-Clause
// Explores memory's life: random programs that allocate, pin, wrap, view, use on streams of GPU and
// CPU, import, lose, free, defer, reset and fork, inside and outside of captures and of functions
// on GPU streams, beside a model of what is alive and what is in it. Memory is from built-in
// managers and a test's own, with others around them. A program is right if
//
// - libcai refuses what is dead, read-only, out of bounds or over a limit, and nothing else;
// - what is read is what was written last, by any party;
// - nothing races, the memory's reuse among it;
// - every block comes back to its manager once, in its own epoch; every owner ends once;
// - no capture comes to harm, and what one puts off comes back;
// - what is told of usage, of addresses, of pending frees and of what is out of managers is right.
//
//   lives random COUNT SEED   COUNT programs; one that is wrong is shrunk, and printed
//   lives from FIRST LAST     those programs, by their own seeds
//   lives replay PROGRAM      one, as it was printed; says what each step does
//   lives corpus FILE         those of a file, each by itself
//   lives beside ...          the same, with another thread that flushes, drains and finds memory
//
// A step is five numbers; what they mean depends on what there is by then, and one that means
// nothing by then is left out. So every part of a program is a program.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <sstream>

#include "../wide/driver.hpp"
#include "must.h"
#include "world.hpp"

extern char **environ;

namespace lives {
namespace {

// A program depends on its seed alone, not on earlier programs: it begins with a context of its
// own, and draws its schedule from its seed.
void run(const Program &program) {
  wide::cu().simcuda_reseed(program.seed);
  // After an error it is not ended, since its state is unknown.
  const unsigned count_of_gpus = program.seed % 3 ? 1 : 2;
  auto *const world = new World(count_of_gpus);
  world->run(program);
  if (!wrong().empty()) return;
  delete world;
  for (unsigned i = 0; i < count_of_gpus; ++i) {
    MUST(cai_device_reset(gpus[i], CAI_RESET_CONTEXT, nullptr));
    ++Judge::now[i];
  }
  wide::cu().simcuda_forget();
}

// A step by a party, whose number at `at` leaves this rest; or else any.
struct Wanted {
  const char *party;
  std::size_t at = 0;
  unsigned modulus = 1, rest = 0;
};

// Half of the programs begin with these, drawn in part, so that rare things meet.
const std::vector<Wanted> themes[] = {
    // A GPU's pinned memory on a stream, and the host's array of it.
    {{"allocate", 1, 6, 1}, {"array"}, {"import"}},
    {{"pin", 1, 2, 1}, {"array"}, {"import"}},
    // Two GPUs.
    {{"allocate", 1, 6, 1}, {"allocate", 1, 6, 4}, {"array", 1, 4, 0}, {"array", 1, 4, 2}},
    // Masks, on the same or on different devices.
    {{"allocate"}, {"allocate"}, {"masked", 1, 4, 0}, {"masked", 1, 4, 2}},
    // Strangers' memory.
    {{"own_on_gpu"}, {"own"}, {"memory_of"}, {"array"}},
    {{"own_pinned"}, {"import"}, {"import"}},
    {{"allocate", 1, 6, 1}, {"masked"}, {"masked"}, {"import"}},
    // Memory of another process: of a pool, or plain; opened once, twice, and again after a reset.
    {{"open", 4, 4, 1}, {"array"}, {"array"}, {"release"}, {"let_peer"}},
    {{"open", 4, 4, 2}, {"open", 1, 4, 2}, {"array"}, {"array"}, {"drop"}, {"release"}},
    {{"open", 4, 4, 2}, {"array"}, {"reset", 1, 2, 1}, {"open", 1, 4, 2}, {"array"}, {"release"}},
    {{"open", 4, 4, 1},
     {"open", 1, 4, 2},
     {"reset", 1, 2, 1},
     {"open", 1, 4, 2},
     {"release"},
     {"release"}},
};
const char *const users[] = {"fill", "copy", "read", "compare", "delay", "enqueue", "import"};

Program draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Program program{seed, std::vector<Step>(6 + random() % 30)};
  for (Step &step : program.steps) {
    for (unsigned &number : step) number = static_cast<unsigned>(random() % 1000);
  }
  if (seed % 2) return program;
  const std::vector<Wanted> &theme = themes[random() % std::size(themes)];
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    Step &step = program.steps[i];
    if (i < theme.size()) {
      step[0] = World::party(theme[i].party);
      step[theme[i].at] += theme[i].rest - step[theme[i].at] % theme[i].modulus;
    } else if (random() % 2) {
      step[0] = World::party(users[random() % std::size(users)]);
    }
  }
  return program;
}

// Steps go by their names, so that programs outlive what the table of parties gets.
std::string text_of(const Program &program) {
  std::ostringstream out;
  out << program.seed << ':';
  for (const Step &step : program.steps) {
    out << ' ' << World::name_of(step);
    for (std::size_t i = 1; i < step.size(); ++i) out << '.' << step[i];
    if (const unsigned rest = World::rest_of(step)) out << '.' << rest;
  }
  return out.str();
}

Step step_of(const std::string &text) {
  std::string name;
  std::istringstream in(text);
  std::getline(in, name, '.');
  Step step{};
  unsigned rest = 0;
  char between;
  for (std::size_t i = 1; i < step.size(); ++i) in >> step[i] >> between;
  in >> rest;
  step[0] = World::party(name.c_str(), rest);
  return step;
}

Program program_of(const std::string &text) {
  std::istringstream in(text);
  Program program;
  char between;
  in >> program.seed >> between;
  for (std::string step; in >> step;) program.steps.push_back(step_of(step));
  return program;
}

// ---- The program --------------------------------------------------------------------------------

// Runs this program again; a wait status.
int run_again(std::vector<std::string> arguments) {
  if (has_bystander) arguments.insert(arguments.begin() + 1, "beside");
  std::vector<char *> list;
  for (std::string &argument : arguments) list.push_back(argument.data());
  list.push_back(nullptr);
  std::fflush(nullptr);
  pid_t child = 0;
  MUST(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, list.data(), environ));
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

bool is_wrong(const Program &program) {
  return run_again({"lives", "try", text_of(program)}) != 0;
}

// Leaves out what a program is wrong without.
Program shrunk(Program program) {
  for (std::size_t length = program.steps.size() / 2; length > 0; length /= 2) {
    for (std::size_t at = 0; at + length <= program.steps.size();) {
      Program shorter = program;
      const auto begin = shorter.steps.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.steps.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
      if (is_wrong(shorter)) {
        program = shorter;
      } else {
        at += length;
      }
    }
  }
  return program;
}

void tell_program(const Program &program) {
  std::printf("# shrunk to %zu steps\n", program.steps.size());
  const bool is_wrong = run_again({"lives", "replay", text_of(program)}) != 0;
  if (!is_wrong)
    std::printf("# right this time: it depends on time, of the CPU's threads perhaps\n");
  std::printf("# lives replay '%s'\n", text_of(program).c_str());
}

// One that is right alone is wrong after others, or by chance.
void tell_run_up(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t length = 1;; length *= 2) {
    const std::uint64_t from = last - std::min(length, last - first);
    const std::string begin = std::to_string(from), end = std::to_string(last);
    if (run_again({"lives", "from", begin, end}) != 0) {
      std::printf("# right alone, and wrong after others:\n# lives from %s %s\n", begin.c_str(),
                  end.c_str());
      return;
    }
    if (from == first) break;
  }
  std::printf("# right alone, and after those before it: it depends on time\n");
}

// Of the programs from `first` on, the last one fails.
void tell_failure(std::uint64_t first, std::uint64_t last) {
  const Program program = draw(last);
  is_wrong(program) ? tell_program(shrunk(program)) : tell_run_up(first, last);
}

// Each program of a file in a process of its own.
bool replay_all(const std::string &name) {
  std::ifstream file(name);
  if (!file) std::perror(name.c_str());
  bool good = !!file;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const bool is_right = !is_wrong(program_of(line));
    if (!is_right) tell_program(program_of(line));
    good &= is_right;
    std::printf("%s %d - %s\n", is_right ? "ok" : "not ok", ++number, line.c_str());
  }
  std::printf("1..%d\n", number);
  return good;
}

// The seed that runs, and of a hunt the first and the last; by a signal, too.
std::uint64_t running, hunt_begins, hunt_ends;

template <class... Numbers>
void write_number(int file, const char *format, Numbers... numbers) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, format, numbers...);
  static_cast<void>(!write(file, text, static_cast<std::size_t>(length)));
}

void tell_hunt() {
  const unsigned long long tried = std::min(running, hunt_ends) - hunt_begins + 1;
  if (hunt_begins) write_number(STDOUT_FILENO, "# hunted %llu programs at random\n", tried);
}

void tell_and_die(int signal) {
  const unsigned long long seed = running;
  write_number(STDERR_FILENO, "lives: signal %d in seed %llu\n", signal, seed);
  tell_hunt();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Whether all programs, up to the last one, are right.
bool explore(std::uint64_t first, std::uint64_t last) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGTERM})
    std::signal(signal, tell_and_die);
  for (running = first; running <= last; ++running) {
    run(draw(running));
    if (wrong().empty()) continue;
    std::printf("# seed %llu: %s\n", static_cast<unsigned long long>(running), wrong().c_str());
    return false;
  }
  return true;
}

int main_of(std::vector<std::string> arguments) {
  MUST(wide::cu().cuInit(0));
  if (!arguments.empty() && arguments[0] == "peer") return Peer::serve();
  has_bystander = !arguments.empty() && arguments[0] == "beside";
  if (has_bystander) arguments.erase(arguments.begin());
  const std::string what = arguments.empty() ? "" : arguments[0];
  const bool hunts = what == "hunt";
  if ((what == "random" || hunts) && arguments.size() == 3) {
    std::printf("1..1\n");
    const std::uint64_t count = std::stoull(arguments[1]);
    const std::uint64_t first = std::stoull(arguments[2]) * 1000000000;
    if (hunts) hunt_begins = first, hunt_ends = first + count - 1;
    std::fflush(stdout);
    const bool is_right = explore(first, first + count - 1);
    std::fflush(stdout);
    tell_hunt();
    if (!is_right) {
      run_again({"lives", "tell", std::to_string(first), std::to_string(running)});
    }
    std::printf("%s 1 - %s programs\n", is_right ? "ok" : "not ok", arguments[1].c_str());
    return !is_right;
  }
  if ((what == "from" || what == "tell") && arguments.size() == 3) {
    const std::uint64_t first = std::stoull(arguments[1]), last = std::stoull(arguments[2]);
    if (what == "from") return !explore(first, last);
    return tell_failure(first, last), 0;
  }
  if (what == "show" && arguments.size() == 2) {
    std::printf("%s\n", text_of(draw(std::stoull(arguments[1]))).c_str());
    return 0;
  }
  if (what == "corpus" && arguments.size() == 2) return !replay_all(arguments[1]);
  if ((what == "replay" || what == "try") && arguments.size() == 2) {
    speaks = what == "replay";
    run(program_of(arguments[1]));
    if (speaks) std::printf("%s\n", wrong().empty() ? "right" : wrong().c_str());
    return !wrong().empty();
  }
  std::fprintf(
      stderr,
      "usage: lives [beside] random COUNT SEED | hunt COUNT SEED | from FIRST LAST | show SEED |\n"
      "             replay PROGRAM | corpus FILE\n");
  return 2;
}

}  // namespace
}  // namespace lives

int main(int argc, char **argv) {
  return lives::main_of({argv + 1, argv + argc});
}
