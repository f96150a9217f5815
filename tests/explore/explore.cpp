// SPDX-License-Identifier: BSD-3-Clause
// Explores libcai: runs the model's programs on simcuda, and compares what libcai has put in order
// with what the model says, piece of work by piece of work.
//
//   all DEPTH          every program of up to DEPTH steps; the first makes the array
//   order LENGTH       every program of LENGTH steps
//   random COUNT SEED  COUNT programs of up to 8 steps
//   hunt DEPTH COUNT SEED  all and random, but for records, waits and too much order, until the
//   first
//                      that differs
//   resume LENGTH FILE SECONDS [PARTS]
//                      every program of LENGTH steps, in parts: those with the same first steps,
//                      all but two, from everywhere in turn. FILE says how many parts were played;
//                      it goes on from there, and writes FILE, until the time is over; after PARTS
//                      of them, or all, FILE is gone
//   resume random FILE SECONDS [PARTS]
//                      likewise; a part is 100,000 programs, by a seed of its own
//   replay FILE        the programs of a file; of one that begins with `differs:` the difference is
//                      known, and no longer being there is a failure
//
// Each ends with TAP.
//
// A program that differs is shrunk, and printed, also as C.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "explore.h"
#include "model/programs.hpp"
#include "stage.h"
#include "text.hpp"

namespace {

using namespace order_model;

constexpr std::uint32_t access_of(bool writes) {
  return writes ? CAI_ACCESS_WRITE : CAI_ACCESS_READ;
}

constexpr RuleBook kBook = book_of(rules_of(kNow));

// How libcai and the model differ.
enum class Kind { none, unordered, ordered, refused, taken, records, waits, freed, left };
constexpr const char *kKindNames[] = {"",
                                      "libcai leaves two pieces of work without order",
                                      "libcai orders two pieces of work for nothing",
                                      "libcai refuses what the rules allow",
                                      "libcai does what the rules refuse",
                                      "libcai records more, or fewer, events",
                                      "libcai waits more, or less, often",
                                      "the memory is not freed once",
                                      "an end is put off forever"};

struct Difference {
  Kind kind = Kind::none;
  int step = 0;               // after which it shows; 0: the first
  int first = 0, second = 0;  // pieces of work; or how many libcai took, and the model

  explicit operator bool() const { return kind != Kind::none; }
};

// A call of the stage's.
#define ON_STAGE(function, ...) (write_call(#function, __VA_ARGS__), function(__VA_ARGS__))

// A program on the stage, beside the model.
class Play {
 public:
  explicit Play(const Program &program, bool looks_at_cost = true)
      : program_(program), run_(&kBook, program.beginning), looks_at_cost_(looks_at_cost) {}

  Difference play() {
    open_stage();
    const Difference difference = play_steps();
    error_ = last_error();
    close_stage();
    return difference;
  }

  // Writes the calls of the stage, as C.
  Play &writes_source() {
    writes_source_ = true;
    return *this;
  }

  // Whether it ended early: at a step with an array that only the binding holds, or one that is
  // refused where more order is allowed.
  bool is_cut() const { return is_cut_; }
  const std::string &source() const { return source_; }
  const std::string &error() const { return error_; }

 private:
  Difference play_steps() {
    const Beginning &beginning = program_.beginning;
    if (writes_source_) write("  // " + sentence(beginning));
    constexpr std::uint32_t kSaid[] = {CAI_STREAM_NONE, CAI_STREAM_STREAM, CAI_STREAM_EVENT};
    if (ON_STAGE(make_array, beginning.keeper, kSaid[beginning.said], beginning.work,
                 beginning.target) != CAI_OK) {
      return {Kind::refused};
    }
    Outcome outcome = kDone;
    Difference difference = compare();
    for (const Step &step : program_.steps) {
      is_cut_ = step.op != kClose && !has_array(step.array);
      if (difference || outcome != kDone || is_cut_) break;
      ++step_;
      if (writes_source_) write("  // " + sentence(step));
      const Run before = run_;
      outcome = run_.step(step);
      if (outcome == kNotHere) std::abort();  // it is no program
      const cai_status status = act(step, before);
      if (outcome == kRefused) {
        if (status == CAI_OK) return {Kind::taken, step_};
      } else if (may_order_more() && (status == CAI_ERR_ORDER || status == CAI_ERR_EXPORT)) {
        is_cut_ = true;  // a begun use would order it
        run_ = before;
        break;
      } else if (status != CAI_OK) {
        return {Kind::refused, step_};
      } else {
        difference = compare();
      }
    }
    if (difference || outcome != kDone || run_.open.array >= 0) return difference;
    return play_end();
  }

  Difference play_end() {
    ++step_;
    for (int i = kMaxArrays; i-- > 0;) ON_STAGE(drop, i);
    const int64_t left = drain();
    run_.close();
    if (left) return {Kind::left, step_};
    if (frees() != 1) return {Kind::freed, step_};
    return compare_work();
  }

  cai_status act(const Step &step, const Run &before) {
    const int array = step.array;
    const std::uint32_t access = access_of(step.writes);
    const int copy = made_since(before);
    switch (step.op) {
      case kUse:
      case kOpen:
      case kLet:
        if (const cai_status status =
                ON_STAGE(begin, step.op == kOpen, array, step.stream,
                         step.op == kLet ? CAI_ORDER_BEGIN : CAI_ORDER_BOTH, access)) {
          return status;
        }
        ON_STAGE(work, array, step.stream, access);
        if (step.op == kOpen) return CAI_OK;
        if (const cai_status status = ON_STAGE(end, false, step.stream)) return status;
        return step.op == kUse ? CAI_OK : ON_STAGE(release_on, array, step.stream);
      case kClose:
        return ON_STAGE(end, true, before.open.stream);
      case kText:
      case kTextHost:
        return ON_STAGE(use_by_the_text, array, copy, step.stream, access);
      case kSame:
        return ON_STAGE(work_on_its_stream, array, run_.model.arrays[array].stream, access);
      case kSyncHost:
        if (const cai_status status = ON_STAGE(sync_host, array)) return status;
        ON_STAGE(work, array, HOST, access);
        return CAI_OK;
      case kWork:
        return produce_and_publish(step, before, copy);
      case kPublishTo:
        return ON_STAGE(publish, array, copy, before.model.pending, step.stream);
      case kPublishEvent:
        return ON_STAGE(publish_event, array, copy, before.model.pending, step.stream);
      case kDrop:
        ON_STAGE(drop, array);
        return CAI_OK;
      default:
        return ON_STAGE(import_again, kMaxArrays - 1);
    }
  }

  cai_status produce_and_publish(const Step &step, const Run &before, int copy) {
    const Array &array = before.model.arrays[step.array];
    const Owner &owner = before.model.owners[array.owner];
    const std::uint32_t access = access_of(step.writes);
    if (owner.foreign) {
      ON_STAGE(produce_by_the_text, step.array, step.stream, access);
      return CAI_OK;
    }
    const bool own = array.said == kStream && array.stream == step.stream;
    const bool reclaims = !own || owner.reclaims || owner.copied;
    const cai_status status = ON_STAGE(produce, step.array, step.stream, access, reclaims);
    if (status != CAI_OK || copy == 0) return status;
    const std::uint32_t pending = before.model.pending | 1U << step.stream;
    const Array &made = run_.model.arrays[copy];
    if (made.said == kEvent) return ON_STAGE(publish_event, step.array, copy, pending, step.stream);
    return ON_STAGE(publish, step.array, copy, pending, made.stream);
  }

  // The array that the model has published in this step; 0: none.
  int made_since(const Run &before) const {
    for (int i = 1; i < kMaxArrays; ++i) {
      if (run_.model.arrays[i].there && !before.model.arrays[i].there) return i;
    }
    return 0;
  }

  Difference compare() {
    const Difference difference = compare_work();
    if (difference || !looks_at_cost()) return difference;
    const World &world = run_.model.world;
    const int taken[] = {static_cast<int>(records()), static_cast<int>(waits())};
    if (taken[0] != world.records) return {Kind::records, step_, taken[0], world.records};
    if (taken[1] != world.waits) return {Kind::waits, step_, taken[1], world.waits};
    return {};
  }

  // The pieces of work since the last call, with all before.
  Difference compare_work() {
    const World &world = run_.model.world;
    if (work_count() != world.count) std::abort();
    for (; compared_ < world.count; ++compared_) {
      for (int i = 0; i < compared_; ++i) {
        const bool wanted = world.items[compared_].before >> i & 1;
        if (wanted == (comes_before(i, compared_) != 0)) continue;
        if (!wanted && !looks_at_cost()) continue;
        return {wanted ? Kind::unordered : Kind::ordered, step_, i, compared_};
      }
    }
    return {};
  }

  // A binding that has published by itself has done so on stream 1, which comes after blocking
  // streams, and 2: its records and waits are its own, and so is the order that follows.
  bool looks_at_cost() const {
    return looks_at_cost_ && !may_order_more() && !has_published_by_itself();
  }

  void write(const std::string &text) { source_ += text + "\n"; }

  template <class... Numbers>
  void write_call(const char *function, Numbers... numbers) {
    if (!writes_source_) return;
    std::string list;
    for (const long number : {static_cast<long>(numbers)...}) {
      list += (list.empty() ? "" : ", ") + std::to_string(number);
    }
    write(std::string("  ") + function + "(" + list + ");");
  }

  const Program &program_;
  Run run_;
  const bool looks_at_cost_;
  int step_ = 0;
  int compared_ = 0;
  bool is_cut_ = false;
  bool writes_source_ = false;
  std::string source_;
  std::string error_;
};

// Whether the program can be run at all, up to its last step, which alone may race or be rejected.
bool is_program(const Program &program) {
  Run run(&kBook, program.beginning);
  Outcome outcome = kDone;
  for (const Step &step : program.steps) {
    if (outcome != kDone) return false;
    outcome = run.step(step);
  }
  return outcome != kNotHere;
}

// Leaves out what the difference does not need.
Program shrink(Program program, Kind kind, bool looks_at_cost) {
  for (std::size_t before = program.steps.size() + 1; before > program.steps.size();) {
    before = program.steps.size();
    for (std::size_t i = before; i-- > 0;) {
      Program less = program;
      less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_program(less) && Play(less, looks_at_cost).play().kind == kind) program = less;
    }
  }
  return program;
}

void print(const Program &program, bool looks_at_cost = true) {
  Play play(program, looks_at_cost);
  const Difference it = play.writes_source().play();
  std::printf("# %s\n#   at step %d: %s", text_of(program).c_str(), it.step + 1,
              kKindNames[static_cast<int>(it.kind)]);
  if (it.kind == Kind::unordered || it.kind == Kind::ordered) {
    std::printf(": %d and %d", it.first, it.second);
  }
  if (it.kind == Kind::records || it.kind == Kind::waits) {
    std::printf(": %d, and not %d", it.first, it.second);
  }
  if (it.kind == Kind::refused) std::printf(": %s", play.error().c_str());
  std::printf("\n#   #include \"must.h\"\n#   #include \"stage.h\"\n#   int main(void) {\n");
  std::printf("#     open_stage();\n");
  std::string line;
  for (std::istringstream source(play.source()); std::getline(source, line);) {
    std::printf("#   %s\n", line.c_str());
  }
  if (it.kind == Kind::unordered || it.kind == Kind::ordered) {
    std::printf("#     MUST_BE(comes_before(%d, %d), %d);\n", it.first, it.second,
                it.kind == Kind::unordered);
  }
  std::printf("#     close_stage();\n#   }\n");
}

// For hunt(), whose process may end within a program.
long hunted = 0;
const char *hunted_among = "";

// Plays programs, and reports those that differ: a few of each kind.
class Explorer {
 public:
  // Who hunts stops at the first program that leaves order out, or refuses.
  explicit Explorer(bool hunts = false) : looks_at_cost_(!hunts), hunts_(hunts) {}

  // All programs of the length.
  void explore(int length) {
    for (const Beginning &beginning : beginnings_) {
      program_ = {beginning, {}};
      extend(Run(&kBook, beginning), length - 1);
    }
  }

  // Those that begin so, with `more` steps.
  void explore_from(const Program &beginning, int more) {
    program_ = beginning;
    Run run(&kBook, program_.beginning);
    for (const Step &step : program_.steps) {
      if (run.step(step) != kDone) return;  // which is where programs end
    }
    extend(run, more);
  }

  // All beginnings of the length.
  std::vector<Program> list(int length) {
    std::vector<Program> all;
    list_ = &all;
    explore(length);
    list_ = nullptr;
    return all;
  }

  // One of up to eight steps.
  void explore_random(std::mt19937_64 &draw) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(draw() % n); };
    program_ = {beginnings_[below(beginnings_.size())], {}};
    Run run(&kBook, program_.beginning);
    Outcome outcome = kDone;
    for (int tries = 0; tries < 20 && program_.steps.size() < 7 && outcome == kDone; ++tries) {
      const Op op = static_cast<Op>(below(kOps));
      const Step step{op, static_cast<std::int8_t>(op == kClose ? 0 : below(kMaxArrays)),
                      on_streams(op) ? static_cast<Stream>(below(kStreams)) : kHost,
                      accesses(op) && below(2) != 0};
      Run next = run;
      const Outcome tried = next.step(step);
      if (tried == kNotHere || (tried == kRefused && below(8) != 0)) continue;
      outcome = tried;
      run = next;
      program_.steps.push_back(step);
    }
    play();
  }

  long programs() const { return programs_; }
  bool has_seen_any() const { return !seen_.empty(); }

  // Whether all agree; reports those that do not.
  bool tell(int number, const std::string &what) const {
    long differ = 0;
    for (const auto &[kind, count] : seen_) {
      differ += count;
      std::printf("# %ld: %s\n", count, kKindNames[static_cast<int>(kind)]);
    }
    if (cut_)
      std::printf("# %ld are left out from where %s has no such array\n", cut_, binding_name());
    std::printf("%s %d - libcai does as the rules say in %ld programs%s, through %s\n",
                differ ? "not ok" : "ok", number, programs_, what.c_str(), binding_name());
    return differ == 0;
  }

 private:
  static constexpr long kTold = 3;  // of each kind

  void extend(const Run &run, int left) {
    if (left == 0) return play();
    for (const Step &step : alphabet_) {
      if (step.array && !run.model.arrays[step.array].there) continue;
      Run next = run;
      const Outcome outcome = next.step(step);
      if (outcome == kNotHere) continue;
      program_.steps.push_back(step);
      if (outcome == kDone) {
        extend(next, left - 1);
      } else if (left == 1) {
        play();
      }
      program_.steps.pop_back();
    }
  }

  void play() {
    if (list_) return list_->push_back(program_);
    ++programs_;
    if (hunts_) ++hunted;
    Play play(program_, looks_at_cost_);
    const Difference it = play.play();
    cut_ += play.is_cut();
    if (!it || ++seen_[it.kind] > kTold) return;
    const Program shrunk = shrink(program_, it.kind, looks_at_cost_);
    print(shrunk, looks_at_cost_);
    if (!hunts_) return;
    std::printf("# shrunk to %zu steps\n", 1 + shrunk.steps.size());
    std::exit(EXIT_FAILURE);
  }

  const bool looks_at_cost_, hunts_;
  const std::vector<Beginning> beginnings_ = beginnings();
  const std::vector<Step> alphabet_ = alphabet();
  Program program_;
  std::vector<Program> *list_ = nullptr;  // null: programs are played
  long programs_ = 0;
  long cut_ = 0;
  std::map<Kind, long> seen_;
};

bool all(int depth) {
  bool good = true;
  for (int length = 1; length <= depth; ++length) {
    Explorer explorer;
    explorer.explore(length);
    good &= explorer.tell(length, " of " + std::to_string(length) + " steps");
  }
  std::printf("1..%d\n", depth);
  return good;
}

bool order(int length) {
  Explorer explorer;
  explorer.explore(length);
  const bool good = explorer.tell(1, " of " + std::to_string(length) + " steps");
  std::printf("1..1\n");
  return good;
}

// Parts of a search that goes on where it was interrupted, by the number in a file.
class Progress {
 public:
  explicit Progress(const char *name) : name_(name) {
    std::ifstream file(name);
    if (!(file >> done_)) done_ = 0;
  }
  long done() const { return done_; }
  void next() {
    ++done_;
    const std::filesystem::path folder = std::filesystem::path(name_).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    const std::string written = std::string(name_) + ".new";
    std::ofstream(written) << done_ << '\n';
    std::filesystem::rename(written, name_);
  }
  void forget() const { std::filesystem::remove(name_); }

 private:
  const char *const name_;
  long done_ = 0;
};

bool resume(const std::string &what, const char *name, long seconds, long parts) {
  const bool is_random = what == "random";
  const int length = is_random ? 0 : std::atoi(what.c_str());
  if (!is_random && length < 3) return false;
  Explorer explorer;
  std::vector<Program> beginnings;
  if (!is_random) {
    beginnings = explorer.list(length - 2);
    const auto all = static_cast<long>(beginnings.size());
    if (parts == 0 || parts > all) parts = all;
  }
  // Far apart, and each once: a prime that no number of beginnings so far is a multiple of.
  constexpr std::size_t kStride = 1000003;
  Progress progress(name);
  const long first = progress.done();
  const auto begun = std::chrono::steady_clock::now();
  const auto is_over = [&] {
    return std::chrono::steady_clock::now() - begun >= std::chrono::seconds(seconds);
  };
  const auto is_complete = [&] { return parts != 0 && progress.done() >= parts; };
  while (!is_complete() && !is_over() && !explorer.has_seen_any()) {
    const auto part = static_cast<std::size_t>(progress.done());
    if (is_random) {
      std::mt19937_64 draw(part + 1);
      for (int i = 0; i < 100000; ++i) explorer.explore_random(draw);
    } else {
      explorer.explore_from(beginnings[part * kStride % beginnings.size()], 2);
    }
    if (!explorer.has_seen_any()) progress.next();
  }
  const std::string of = parts ? " of " + std::to_string(parts) : "";
  const bool good = explorer.tell(
      1, ", parts " + std::to_string(first) + " to " + std::to_string(progress.done()) + of +
             " of " + (is_random ? "random ones" : std::to_string(length) + " steps"));
  if (is_complete()) progress.forget();
  std::printf("1..1\n");
  return good;
}

bool random(long count, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  Explorer explorer;
  while (count-- > 0) explorer.explore_random(draw);
  const bool good = explorer.tell(1, ", drawn by seed " + std::to_string(seed));
  std::printf("1..1\n");
  return good;
}

bool hunt(int depth, long count, std::uint64_t seed) {
  std::atexit([] { std::printf("# hunted %ld programs %s\n", hunted, hunted_among); });
  Explorer explorer(true);
  hunted_among = "one by one";
  for (int length = 1; length <= depth; ++length) explorer.explore(length);
  hunted = 0;
  hunted_among = "at random";
  std::mt19937_64 draw(seed);
  while (count-- > 0) explorer.explore_random(draw);
  const bool good =
      explorer.tell(1, ", all of up to " + std::to_string(depth) + " steps among them");
  std::printf("1..1\n");
  return good;
}

bool replay(const char *name) {
  std::ifstream file(name);
  if (!file) std::perror(name);
  int number = 0;
  bool good = !!file;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::string mark = "differs: ";
    const bool known = line.rfind(mark, 0) == 0;
    const std::optional<Program> program = program_of(known ? line.substr(mark.size()) : line);
    if (!program || !is_program(*program)) {
      std::printf("not ok %d - no program: %s\n", ++number, line.c_str());
      good = false;
      continue;
    }
    const bool differs = !!Play(*program).play();
    if (differs && !known) print(*program);
    good &= differs == known;
    std::printf("%s %d - %s\n", differs == known ? "ok" : "not ok", ++number, line.c_str());
  }
  std::printf("1..%d\n", number);
  return good;
}

}  // namespace

int explore(int argc, char **argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "replay") return !replay(argv[2]);
  if (what == "resume" && argc > 4) {
    return !resume(argv[2], argv[3], std::atol(argv[4]), argc > 5 ? std::atol(argv[5]) : 0);
  }
  const long number = argc > 2 ? std::atol(argv[2]) : 0;
  if (number < 1) return 2;
  if (what == "all") return !all(static_cast<int>(number));
  if (what == "order") return !order(static_cast<int>(number));
  const auto at = [&](int i) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : 1; };
  if (what == "hunt") return !hunt(static_cast<int>(number), static_cast<long>(at(3)), at(4));
  const std::uint64_t seed = at(3);
  return what == "random" ? !random(number, seed) : 2;
}
