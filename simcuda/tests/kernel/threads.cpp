// SPDX-License-Identifier: BSD-3-Clause
// Blocks on several threads: nothing that a launch leaves behind says on how many.
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "module.h"

using namespace simcuda::kernel;

#define MUST(condition)                                                                  \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: it is not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (false)

namespace {

constexpr std::uint32_t blocks = 200, threads_of_block = 64;
constexpr std::uint32_t elements = blocks * threads_of_block;

// Memory of a launch. Threads that ask whether to stop can be made to wait for each other, so that
// the launch uses several threads, however busy the machine is.
class Machine : public Environment {
 public:
  std::vector<std::uint32_t> in, out, more;
  std::vector<std::uint64_t> written;  // of `more`
  std::string printed;
  std::size_t meet = 0;
  std::function<bool()> stop;
  std::uint64_t lost = 0;  // an address at which looking fails

  Machine() : in(elements), out(elements), more(elements) { begin_anew(); }
  void begin_anew() {
    std::iota(in.begin(), in.end(), 1u);
    out.assign(elements, 0);
    more.assign(elements, 7);
    written.assign(elements * 4 / 64 + 2, 0);
    printed.clear();
    calls_.clear();
  }
  std::size_t threads() const { return calls_.size(); }

  Window find(std::uint64_t address) override {
    std::lock_guard lock(mutex_);
    calls_[std::this_thread::get_id()];
    all_there_.notify_all();
    if (lost && address == lost) throw std::runtime_error("lost");
    for (auto *memory : {&in, &out, &more}) {
      const auto begin = reinterpret_cast<std::uintptr_t>(memory->data());
      if (address - begin < elements * 4)
        return {begin, begin + elements * 4, reinterpret_cast<std::byte *>(memory->data()), true,
                memory == &more ? written.data() : nullptr};
    }
    return {};
  }
  std::string describe(std::uint64_t) override { return "Nothing is there."; }
  std::uint64_t address_of(const Variable &) override { return 0; }
  void print(std::string_view text) override { printed += text; }
  bool stopped() override {
    std::unique_lock lock(mutex_);
    // A thread that asks for the first time may be the only one so far.
    if (++calls_[std::this_thread::get_id()] > 1)
      all_there_.wait(lock, [this] { return calls_.size() >= meet; });
    return stop && stop();
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_there_;
  std::map<std::thread::id, std::size_t> calls_;  // of stopped; 0: it has only looked for memory
};

// The thread's element is %i, its place in `in`, `out` and `more` %q3, %q4 and %q5. A block takes
// some 60000 instructions of its threads, so that a quarter of a million is that of a few.
ModulePtr kernel_of(const std::string &body, const std::string &before = {}) {
  return parse(R"(.version 8.5
.target sm_90
.address_size 64
)" + before + R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 more)
{
.reg .pred %p<4>; .reg .b32 %r<8>, %i, %me, %block, %n; .reg .b64 %q<12>;
.shared .align 4 .b8 row[256];
mov.u32 %me, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %i, %block, 64, %me;
ld.param.u64 %q0, [in]; ld.param.u64 %q1, [out]; ld.param.u64 %q2, [more];
mad.wide.u32 %q3, %i, 4, %q0; mad.wide.u32 %q4, %i, 4, %q1; mad.wide.u32 %q5, %i, 4, %q2;
ld.global.u32 %r0, [%q3]; mov.u32 %n, 0;
AGAIN: add.u32 %n, %n, 1; mad.lo.u32 %r0, %r0, 5, %n; setp.lt.u32 %p0, %n, 220;
@%p0 bra AGAIN;
mov.u32 %r1, row; mad.lo.u32 %r2, %me, 4, %r1; st.shared.u32 [%r2], %r0; bar.sync 0;
xor.b32 %r2, %r2, 252; ld.shared.u32 %r0, [%r2];
)" + body + "\nret;\n}\n");
}

Outcome launch(const Module &module, Machine &machine, unsigned threads,
               const std::function<void(Launch &)> &change = {}) {
  machine.begin_anew();
  Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = threads_of_block;
  launch.threads = threads;
  launch.checks.races = false;
  for (auto *memory : {&machine.in, &machine.out, &machine.more}) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
    const auto *bytes = reinterpret_cast<const std::byte *>(&address);
    launch.parameters.insert(launch.parameters.end(), bytes, bytes + sizeof address);
  }
  if (change) change(launch);
  return run(module, module.kernels.at(0), launch, machine);
}

// All that there is to know, if blocks behind a fault may have run.
std::string told(const Outcome &outcome) {
  std::string text;
  if (outcome.fault)
    text += to_string(*outcome.fault) + '\n';
  else
    text += std::to_string(outcome.instructions) + " instructions\n";
  for (const Finding &finding : outcome.findings) text += to_string(finding) + '\n';
  text += std::to_string(outcome.findings_left_out) + " left out\n";
  if (outcome.fault) return text;
  for (const Access &access : outcome.accesses)
    text += std::to_string(static_cast<int>(access.use)) + ' ' + std::to_string(access.begin) +
            ' ' + std::to_string(access.end) + ' ' + std::to_string(access.parameter) + ' ' +
            to_string(outcome.places[access.place]) + '\n';
  return text;
}

// As on one thread, whatever the number.
Outcome must_be_same(const Module &module) {
  Machine machine;
  const Outcome alone = launch(module, machine, 1);
  MUST(machine.threads() == 1);
  const auto out = machine.out, more = machine.more;
  const auto written = machine.written;
  for (unsigned threads : {2u, 3u, 8u}) {
    // After a fault those that have not begun do not begin any more.
    machine.meet = alone.fault ? 2 : threads;
    const Outcome outcome = launch(module, machine, threads);
    MUST(machine.threads() >= machine.meet);
    if (told(outcome) != told(alone)) {
      std::fprintf(stderr, "on one thread:\n%s\non %u:\n%s\n", told(alone).c_str(), threads,
                   told(outcome).c_str());
      std::exit(1);
    }
    if (outcome.fault) continue;
    MUST(machine.out == out && machine.more == more && machine.written == written);
  }
  return alone;
}

void check_results() {
  const ModulePtr module = kernel_of("st.global.u32 [%q4], %r0;");
  const Outcome outcome = must_be_same(*module);
  MUST(!outcome.fault && outcome.findings.empty() && outcome.accesses.size() == 2);
  Machine machine;
  machine.meet = 2;
  launch(*module, machine, 2);
  for (std::uint32_t i = 0; i < elements; ++i) {
    std::uint32_t value = machine.in[i ^ 63];
    for (std::uint32_t n = 1; n <= 220; ++n) value = value * 5 + n;
    MUST(machine.out[i] == value);
  }
}

// Memory that blocks use in part, with holes, and by different instructions. The lowest block's
// instruction is reported, though that block comes there last.
void check_first_places() {
  const Outcome outcome = must_be_same(*kernel_of(R"(
setp.lt.u32 %p1, %block, 37; @%p1 bra END; setp.eq.u32 %p1, %block, 37; @%p1 bra LONG;
st.global.u16 [%q5], %r0; bra END;
LONG: mov.u32 %n, 0;
MORE: add.u32 %n, %n, 1; setp.lt.u32 %p1, %n, 1500000; @%p1 bra MORE; st.global.u8 [%q5+1], %r0;
END:)"));
  bool seen = false;
  for (const Access &access : outcome.accesses)
    if (access.parameter == 2) {
      MUST(outcome.places[access.place].instruction == "st.global.u8");
      seen = true;
    }
  MUST(seen);
}

// By block, with the first thread of the first block, and counted over all.
void check_findings() {
  const Outcome outcome = must_be_same(*kernel_of(R"(
rem.u32 %r3, %block, 7; setp.ne.u32 %p1, %r3, 5; @%p1 bra SECOND; ld.global.u32 %r4, [%q5];
SECOND: rem.u32 %r3, %block, 9; setp.ne.u32 %p1, %r3, 4; @%p1 bra END; ld.global.u16 %r5, [%q5+2];
END:)"));
  MUST(outcome.findings.size() == 2);
  MUST(outcome.findings[0].place.instruction == "ld.global.u16" &&
       outcome.findings[0].thread.block[0] == 4 && outcome.findings[0].count == 22 * 64);
  MUST(outcome.findings[1].place.instruction == "ld.global.u32" &&
       outcome.findings[1].thread.block[0] == 5 && outcome.findings[1].count == 28 * 64);
}

// More findings than are reported, and those of later blocks come first in the text.
void check_many_findings() {
  std::string body;
  for (int n = 99; n >= 0; --n) {
    const std::string number = std::to_string(n);
    body += "setp.lt.u32 %p1, %block, " + number + "; @%p1 bra N" + number +
            "; ld.global.u8 %r4, [%q5]; N" + number + ":\n";
  }
  const Outcome outcome = must_be_same(*kernel_of(body));
  MUST(outcome.findings.size() == 64 && outcome.findings_left_out > 0);
  for (std::uint32_t n = 0; n < 64; ++n) MUST(outcome.findings[n].thread.block[0] == n);
}

// The lowest block that faults is reported, and the findings up to it.
void check_faults() {
  const ModulePtr module = kernel_of(R"(
rem.u32 %r3, %block, 100; setp.ne.u32 %p1, %r3, 30; @%p1 bra NEXT; ld.global.u32 %r4, [%q5];
NEXT: setp.ne.u32 %p1, %r3, 40; @%p1 bra LATE; ld.global.u8 %r4, [%q5];
LATE: setp.lt.u32 %p1, %block, 160; @%p1 bra EARLY; ld.global.u16 %r4, [%q5]; trap;
EARLY: setp.ne.u32 %p1, %block, 150; @%p1 bra GOOD; mov.u32 %n, 0;
MORE: add.u32 %n, %n, 1; setp.lt.u32 %p1, %n, 300000; @%p1 bra MORE;
setp.lt.u32 %p1, %me, 9; @%p1 bra GOOD; mov.u32 %r3, 0; st.shared.u32 [%r3+4096], %r0;
GOOD: st.global.u32 [%q4], %r0;)");
  for (int times = 0; times < 3; ++times) {
    const Outcome outcome = must_be_same(*module);
    MUST(outcome.fault && outcome.fault->kind == FaultKind::illegal_address);
    MUST(outcome.fault->thread.block[0] == 150 && outcome.fault->thread.thread[0] == 32);
    MUST(outcome.findings.size() == 2 && outcome.findings[0].count == 1);
  }
  // Whatever comes before it has run.
  Machine machine;
  launch(*module, machine, 4);
  for (std::uint32_t i = 0; i < 150 * threads_of_block; ++i) MUST(machine.out[i] != 0);
  // A block before it that goes on for long, so that others begin beside it, is waited for.
  const Outcome late = must_be_same(*kernel_of(R"(
setp.eq.u32 %p1, %block, 37; @%p1 bra LONG;
setp.ne.u32 %p1, %block, 39; @%p1 bra END; trap;
LONG: mov.u32 %n, 0;
MORE: add.u32 %n, %n, 1; setp.lt.u32 %p1, %n, 1500000; @%p1 bra MORE; mov.u64 %q8, 0;
st.global.u32 [%q8], %n;
END:)"));
  MUST(late.fault && late.fault->kind == FaultKind::illegal_address);
  MUST(late.fault->thread.block[0] == 37);
}

void check_ends() {
  const ModulePtr endless = kernel_of("FOREVER: bra FOREVER;");
  Machine machine;
  machine.stop = [&] { return machine.threads() == 3; };
  Outcome outcome = launch(*endless, machine, 3);
  MUST(outcome.fault && outcome.fault->kind == FaultKind::stopped);

  machine.stop = {};
  outcome =
      launch(*endless, machine, 3, [](Launch &launch) { launch.most_instructions = 1 << 22; });
  MUST(outcome.fault && outcome.fault->kind == FaultKind::limit);

  // The environment fails, in one block of many.
  const ModulePtr module = kernel_of(
      "setp.ne.u32 %p1, %i, 6400; @%p1 bra END; mov.u64 %q8, 123456; ld.global.u32 %r0, [%q8]; END:");
  machine.lost = 123456;
  try {
    launch(*module, machine, 3);
    MUST(!"thrown");
  } catch (const std::runtime_error &error) {
    MUST(std::string("lost") == error.what());
  }
  machine.lost = 0;
}

// A launch that has hardly begun when it ends is not worth a thread.
void check_small_launches() {
  const ModulePtr module = kernel_of("st.global.u32 [%q4], %r0;");
  Machine machine;
  for (int times = 0; times < 200; ++times) {
    launch(*module, machine, 8, [](Launch &launch) { launch.grid[0] = 4; });
    MUST(machine.threads() == 1 && machine.out[4 * threads_of_block - 1] != 0);
  }
}

void check_two_launches() {
  const auto several = [] {
    const ModulePtr module = kernel_of("st.global.u32 [%q4], %r0; ld.global.u8 %r4, [%q5];");
    for (int times = 0; times < 3; ++times) MUST(must_be_same(*module).findings.size() == 1);
  };
  std::thread other(several);
  several();
  other.join();
}

// Exchange between blocks, and anything else that may show their order, keeps them on one thread.
void check_dependent_blocks() {
  const std::string functions = R"(
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc(.param .b64 a);
.global .align 1 .b8 t[3] = {104, 105, 0};
.func f(.param .b64 p) { .reg .b64 %p; ld.param.b64 %p, [p]; red.global.add.u32 [%p], 1; ret; }
.func g(.param .b64 p) { ret; }
.global .align 8 .u64 table[1] = {g};
)";
  const std::string call_of_table = R"(mov.u64 %q8, table; cvta.global.u64 %q8, %q8;
P: .callprototype _ (.param .b64 p); mov.u64 %q9, g;
{ .param .b64 a; st.param.b64 [a], %q4; call %q9, (a), P; })";
  const std::pair<std::string, bool> bodies[] = {
      {"st.global.u32 [%q4], %r0;", true},
      {"ld.global.nc.u32 %r4, [%q3]; ld.global.cg.u32 %r4, [%q3];", true},
      {"red.shared.add.u32 [%r2], 1; atom.shared.cas.b32 %r4, [%r2], 1, 2;", true},
      {"st.volatile.shared.u32 [%r2], 1; membar.cta; fence.acq_rel.cta; bar.red.popc.u32 %r4, 0, %p0;",
       true},
      {"cp.async.ca.shared.global [%r2], [%q3], 4; cp.async.wait_all;", true},
      {"mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.shared.b64 %q8, [%r2];"
       "mbarrier.try_wait.acquire.cta.shared.b64 %p0, [%r2], %q8;",
       true},
      {"{ .param .b64 a; st.param.b64 [a], %q4; call g, (a); }", true},
      {call_of_table, true},
      {"tex.1d.v4.u32.s32 {%r4, _, _, _}, [%q3, {%r0}]; suld.b.1d.b32.trap %r4, [%q3, {%r0}];",
       true},
      {"sust.b.1d.b32.trap [%q4, {%r0}], %r0; sust.p.1d.b32.zero [%q4, {%r0}], %r0;", true},
      {"sured.b.add.1d.u32.trap [%q1, {0}], 1;", false},
      {"red.global.add.u32 [%q1], 1;", false},
      {"atom.add.u32 %r4, [%q1], 1;", false},
      {"ld.volatile.global.u32 %r4, [%q3];", false},
      {"ld.acquire.gpu.u32 %r4, [%q3];", false},
      {"ld.global.cv.u32 %r4, [%q3];", false},
      {"st.release.gpu.global.u32 [%q4], 1;", false},
      {"membar.gl;", false},
      {"fence.acq_rel.gpu;", false},
      {"nanosleep.u32 10;", false},
      {"{ .param .b64 a; st.param.b64 [a], %q4; call f, (a); }", false},
      {call_of_table + "mov.u64 %q9, f;", false},
      {"{ .param .b64 a, b; .param .b32 r; mov.u64 %q8, t; st.param.b64 [a], %q8; "
       "st.param.b64 [b], 0; call (r), vprintf, (a, b); }",
       false},
      {"{ .param .b64 a; .param .b64 r; st.param.b64 [a], 8; call (r), malloc, (a); }", false},
  };
  for (const auto &[body, independent] : bodies) {
    const ModulePtr module = kernel_of(body, functions);
    if (module->kernels[0].independent_blocks != independent) {
      std::fprintf(stderr, "%s: %s\n", body.c_str(), independent ? "on one thread" : "on several");
      std::exit(1);
    }
  }
  Machine machine;
  launch(*kernel_of("red.global.add.u32 [%q1], 1;"), machine, 8);
  MUST(machine.threads() == 1 && machine.out[0] == elements);
  const ModulePtr module = kernel_of("st.global.u32 [%q4], %r0;");
  launch(*module, machine, 8, [](Launch &launch) { launch.checks.races = true; });
  MUST(machine.threads() == 1);
  launch(*module, machine, 8, [](Launch &launch) { launch.cooperative = true; });
  MUST(machine.threads() == 1);
}

void end_a_thread() {
  pid_t id = 0;
  std::thread([&] { id = gettid(); }).join();
  // One that has ended may be listed for a moment.
  while (std::filesystem::exists("/proc/self/task/" + std::to_string(id)))
    std::this_thread::yield();
}

auto threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

}  // namespace

int main() {
  end_a_thread();  // with the first one, a sanitizer begins one of its own
  const auto threads = threads_of_process();
  check_results();
  check_first_places();
  check_findings();
  check_many_findings();
  check_faults();
  check_ends();
  check_small_launches();
  check_two_launches();
  check_dependent_blocks();
  // No thread is left.
  while (threads_of_process() != threads) std::this_thread::yield();
}
