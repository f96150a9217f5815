// SPDX-License-Identifier: BSD-3-Clause
// Explores the rules of order by themselves: every program up to a length, and nothing of libcai.
//
//   explore_model now DEPTH     every rule of today: no program may race (TAP)
//   explore_model without DEPTH each rule left out in turn: some program must race (TAP)
//   explore_model was DEPTH     the rules as they were: what raced, and which rule fixes it
//   explore_model decided DEPTH the same for the rules as they were decided first
//   explore_model random COUNT  every rule of today, COUNT programs of up to 8 steps (TAP)
//   explore_model table         what begin and end cost, for each array and kind of consumer's
//   stream
//
// DEPTH counts the making of the array as a step. Programs come by length, so the first that races
// is as short as can be.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string_view>

#include "programs.hpp"

namespace {

using namespace order_model;

// Whether the driver orders work on `a` before work on `b`, if work on `between`, or none (the
// host), was issued after the one and before the other.
constexpr bool ordered(Stream a, Stream between, Stream b) {
  World world;
  const int first = world.work(a, {0, 1}, true, 1);
  if (between != kHost) world.work(between, {1, 2}, true, 1);
  const int second = world.work(b, {0, 1}, true, 1);
  return world.items[second].before >> first & 1;
}

// What the legacy stream orders, and what not.
static_assert(ordered(kBlocking1, kHost, kBlocking1));
static_assert(!ordered(kBlocking1, kHost, kBlocking2));
static_assert(ordered(kBlocking1, kLegacy, kBlocking2));
static_assert(ordered(kThread1, kLegacy, kThread2));
static_assert(!ordered(kThread1, kHost, kThread2));
static_assert(ordered(kLegacy, kHost, kBlocking1) && ordered(kBlocking1, kHost, kLegacy));
static_assert(!ordered(kLegacy, kHost, kNonBlocking1) && !ordered(kNonBlocking1, kHost, kLegacy));
static_assert(!ordered(kBlocking1, kOtherContext, kBlocking2));
static_assert(!ordered(kLegacy, kHost, kOtherContext));

// An event is what came before its record, not what comes after it.
constexpr bool waits_for_later_work() {
  World world;
  const Set event = world.record(kNonBlocking1);
  const int later = world.work(kNonBlocking1, {0, 1}, true, 1);
  world.wait(kNonBlocking2, event);
  const int second = world.work(kNonBlocking2, {0, 1}, true, 1);
  return world.items[second].before >> later & 1;
}
static_assert(!waits_for_later_work());

constexpr int kMaxSteps = 5;  // what World, Model and a minute or two have room for

struct Counts {
  long programs = 0;
  long refused = 0;
  long raced = 0;
  long records = 0;
  long waits = 0;
};

// Called with a program that races, and how far it ran.
using Found = std::function<bool(const Program &, const Run &)>;  // false: look no further

class Exploration {
 public:
  Exploration(Rules rules, Found found) : book_(book_of(rules)), found_(std::move(found)) {}

  // Tries all programs of the length; returns false if the search was stopped.
  bool explore(int length) {
    for (const Beginning &beginning : beginnings_) {
      program_ = {beginning, {}};
      if (!extend(Run(&book_, beginning), length - 1)) return false;
    }
    return true;
  }

  Counts counts;

 private:
  bool extend(const Run &run, int left) {
    if (left == 0) return end(run);
    for (const Step &step : alphabet_) {
      if (step.array && !run.model.arrays[step.array].there) continue;
      Run next = run;
      const Outcome outcome = next.step(step);
      if (outcome == kNotHere) continue;
      program_.steps.push_back(step);
      bool go_on = true;
      if (outcome == kDone) {
        go_on = extend(next, left - 1);
      } else if (left == 1) {
        ++counts.programs;
        if (outcome == kRefused) ++counts.refused;
        if (outcome == kRace) go_on = raced(next);
      }
      program_.steps.pop_back();
      if (!go_on) return false;
    }
    return true;
  }

  bool end(const Run &run) {
    ++counts.programs;
    counts.records += run.model.world.records;
    counts.waits += run.model.world.waits;
    if (run.open.array >= 0) return true;  // its holder is still there
    Run last = run;
    return last.close() || raced(last);
  }

  bool raced(const Run &run) {
    ++counts.raced;
    return found_(program_, run);
  }

  const RuleBook book_;
  const Found found_;
  const std::vector<Beginning> beginnings_ = beginnings();
  const std::vector<Step> alphabet_ = alphabet();
  Program program_;
};

// Whether the program races: in its steps or, after those, in the release.
bool races(const Program &program, Rules rules, bool in_release) {
  const RuleBook book = book_of(rules);
  Run run(&book, program.beginning);
  for (const Step &step : program.steps) {
    const Outcome outcome = run.step(step);
    if (outcome != kDone) return outcome == kRace;
  }
  return in_release && run.open.array < 0 && !run.close();
}

bool is_release(const Run &run, int item) {
  return run.model.world.items[item].party == kRelease;
}

void print(const Program &program, const Run &run) {
  std::printf("#   1. %s\n", sentence(program.beginning).c_str());
  int number = 1;
  for (const Step &step : program.steps)
    std::printf("#   %d. %s\n", ++number, sentence(step).c_str());
  const auto describe = [&](int item) {
    const Item &it = run.model.world.items[item];
    const char *who = is_release(run, item)   ? "the release's free"
                      : it.party == kProducer ? "the producer's work"
                                              : "a consumer's work";
    return std::string(who) + (it.stream == kHost ? " by " : " on ") + name_of(it.stream);
  };
  std::printf("#   race: nothing orders %s before %s\n", describe(run.first).c_str(),
              describe(run.second).c_str());
}

void print(const Counts &counts) {
  std::printf("# %ld programs, %ld refused, %ld race; %ld records, %ld waits\n", counts.programs,
              counts.refused, counts.raced, counts.records, counts.waits);
}

int now(int depth) {
  std::printf("1..%d\n", depth);
  bool good = true;
  for (int length = 1; length <= depth; ++length) {
    Exploration exploration(rules_of(kNow), [](const Program &program, const Run &run) {
      print(program, run);
      return false;
    });
    const bool none = exploration.explore(length);
    // Rules that refuse everything would race nowhere.
    const bool allowed = exploration.counts.refused * 20 <= exploration.counts.programs;
    good &= none && allowed;
    print(exploration.counts);
    std::printf("%s %d - no program of %d steps races\n", none && allowed ? "ok" : "not ok", length,
                length);
  }
  return good ? 0 : 1;
}

int without(int depth) {
  const Rules all = rules_of(kNow);
  int number = 0;
  bool good = true;
  for (int i = 0; i < kRuleCount; ++i) {
    if (!(all >> i & 1)) continue;
    bool raced = false;
    long programs = 0;
    int length = 1;
    for (; length <= depth && !raced; ++length) {
      Exploration exploration(all & ~(Rules{1} << i), [](const Program &program, const Run &run) {
        print(program, run);
        return false;
      });
      raced = !exploration.explore(length);
      programs += exploration.counts.programs;
    }
    good &= raced;
    std::printf("%s %d - without %s: %s: %ld programs, %d steps\n", raced ? "ok" : "not ok",
                ++number, kRules[i].name.data(), kRules[i].words.data(), programs, length - 1);
  }
  std::printf("1..%d\n", number);
  return good ? 0 : 1;
}

// Leaves out what the race does not need.
Program shrink(Program program, Rules rules) {
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    Program less{program.beginning, {}};
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      if (k != i) less.steps.push_back(program.steps[k]);
    }
    if (races(less, rules, true)) program = less;
  }
  return program;
}

// Prints a program with the pair that races in it.
void replay(const Program &program, Rules rules) {
  const RuleBook book = book_of(rules);
  Run run(&book, program.beginning);
  Outcome outcome = kDone;
  for (const Step &step : program.steps) outcome = run.step(step);
  if (outcome == kDone) (void)run.close();
  print(program, run);
}

// Longer programs, each step drawn: first what is done, then how.
int random(long count, Rules rules) {
  std::mt19937_64 draw(14);
  const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
  const RuleBook book = book_of(rules);
  const std::vector<Beginning> all = beginnings();
  std::printf("1..1\n");
  for (long number = 1; number <= count; ++number) {
    Program program{all[static_cast<std::size_t>(below(static_cast<int>(all.size())))], {}};
    Run run(&book, program.beginning);
    Outcome outcome = kDone;
    for (int tries = 0; tries < 14 && program.steps.size() < 7 && outcome == kDone; ++tries) {
      const Op op = static_cast<Op>(below(kOps));
      const Step step{op, static_cast<std::int8_t>(op == kClose ? 0 : below(kMaxArrays)),
                      on_streams(op) ? static_cast<Stream>(below(kStreams)) : kHost,
                      accesses(op) && below(2) != 0};
      Run next = run;
      const Outcome tried = next.step(step);
      if (tried == kNotHere || tried == kRefused) continue;
      outcome = tried;
      run = next;
      program.steps.push_back(step);
    }
    if (outcome == kDone && (run.open.array >= 0 || run.close())) continue;
    replay(shrink(program, rules), rules);
    std::printf("not ok 1 - program %ld races\n", number);
    return 1;
  }
  std::printf("ok 1 - none of %ld programs races\n", count);
  return 0;
}

// Names each kind of fault by the rules of today that fix it when they are added.
int fixed(Edition before, int depth) {
  const Rules had = rules_of(before);
  const Rules added = rules_of(kNow) & ~had;
  std::vector<Rules> known;
  std::vector<long> seen;
  long programs = 0;
  for (int length = 1; length <= depth; ++length) {
    Exploration *here = nullptr;
    const auto fixes = [&](const Program &program, const Run &run) {
      const bool in_release = is_release(run, run.second);
      const auto cures = [&](Rules cure) { return !races(program, had | cure, in_release); };
      for (std::size_t k = 0; k < known.size(); ++k) {
        if (cures(known[k])) {
          ++seen[k];
          return true;
        }
      }
      Rules cure = added;
      for (int i = 0; i < kRuleCount; ++i) {  // leave out what is not needed
        const Rules less = cure & ~(Rules{1} << i);
        if (less != cure && cures(less)) cure = less;
      }
      known.push_back(cure);
      seen.push_back(1);
      std::printf("# %ld programs until one that is fixed by", programs + here->counts.programs);
      for (int i = 0; i < kRuleCount; ++i) {
        if (cure >> i & 1) std::printf(" %s", kRules[i].name.data());
      }
      std::printf("%s\n", cures(added) ? "" : " nothing");
      print(program, run);
      return true;
    };
    Exploration exploration(had, fixes);
    here = &exploration;
    exploration.explore(length);
    programs += exploration.counts.programs;
    print(exploration.counts);
  }
  for (std::size_t k = 0; k < known.size(); ++k) {
    std::printf("# %ld race that are fixed by", seen[k]);
    for (int i = 0; i < kRuleCount; ++i) {
      if (known[k] >> i & 1) std::printf(" %s", kRules[i].name.data());
    }
    std::printf("\n");
  }
  return 0;
}

// The records and waits of one use, in Markdown: begin's, then end's.
int table() {
  constexpr Beginning kHave[] = {{kPlain, kNone, kNonBlocking1, kNonBlocking1},
                                 {kPlain, kStream, kLegacy, kLegacy},
                                 {kPlain, kStream, kThread1, kThread1},
                                 {kPlain, kStream, kBlocking1, kBlocking1},
                                 {kPlain, kStream, kNonBlocking1, kNonBlocking1},
                                 {kPlain, kEvent, kNonBlocking1, kNonBlocking1}};
  constexpr Stream kOn[] = {kLegacy, kThread1, kBlocking1, kNonBlocking1, kOtherContext};
  const RuleBook book = book_of(rules_of(kNow));
  for (Beginning have : kHave) {
    for (const Keeper who : {kPlain, kReclaims, kForeign}) {
      if (who == kForeign && have.said == kEvent) continue;
      have.keeper = who;
      std::printf("| %s | %s |", said_by(Run(&book, have).model.arrays[0]).c_str(), kKeepers[who]);
      for (const Stream stream : kOn) {
        Run run(&book, have);
        const World &world = run.model.world;
        const World start = world;
        (void)run.step({kOpen, 0, stream, false});
        const World begun = world;
        (void)run.step({kClose, 0, kHost, false});
        std::printf(" %d+%d, %d+%d%s |", begun.records - start.records, begun.waits - start.waits,
                    world.records - begun.records, world.waits - begun.waits,
                    run.model.kept_count ? " kept" : "");
      }
      std::printf("\n");
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const int depth = argc > 2 ? std::atoi(argv[2]) : 0;
  if (what == "table") return table();
  if (what == "random" && depth > 0) return random(depth, rules_of(kNow));
  if (depth < 1 || depth > kMaxSteps) return 2;
  if (what == "now") return now(depth);
  if (what == "without") return without(depth);
  if (what == "was") return fixed(kWas, depth);
  if (what == "decided") return fixed(kDecided, depth);
  return 2;
}
