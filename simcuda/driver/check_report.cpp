// SPDX-License-Identifier: BSD-3-Clause
#include "check_report.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "driver.h"
#include "trace.h"

namespace simcuda {
namespace {

constexpr std::size_t most_told = 100;

std::atomic<std::uint64_t> count{0};
std::atomic<bool> telling{false};

struct Told {
  std::mutex mutex;
  std::set<std::string> places;
};

Told &told() {
  static auto *all = new Told;
  return *all;
}

// "simcuda:   by parameter 2 (out), in the 256 bytes of device memory at 0x...", and where that was
// allocated.
std::string memory_of(const kernel::Finding &finding) {
  return finding.memory.empty() ? finding.memory : "simcuda:   " + finding.memory;
}

// "simcuda:   as operation 3, on blocking stream ...".
std::string line_of(const Operation &operation) {
  const Step &step = *operation.step;
  return "simcuda:   as operation " + std::to_string(operation.id) + ", " + step.call + " on " +
         step.line->name + '\n' + where(step);
}

void report(const std::string &text, const Operation &operation) {
  if (trace::on) trace::found(operation, text);
  Settings::get().races == RaceMode::count ? say(text) : tell(text);
}

// What a loop of launches repeats is counted each time, and reported once.
std::string place_of(const kernel::Finding &finding) {
  return finding.place.kernel + '\n' + std::to_string(static_cast<int>(finding.kind)) + '\n' +
         std::to_string(finding.place.ptx_line);
}

}  // namespace

void tell_findings(const std::vector<kernel::Finding> &findings, std::uint64_t left_out,
                   const Operation &operation) {
  if (findings.empty()) return;
  const RaceMode mode = Settings::get().races;
  count += findings.size() + left_out;
  if (mode == RaceMode::count) return;
  telling = true;
  std::lock_guard guard(told().mutex);
  for (const kernel::Finding &finding : findings) {
    if (told().places.size() > most_told || !told().places.insert(place_of(finding)).second)
      continue;
    if (told().places.size() > most_told)
      tell("simcuda: more findings are only counted\n");
    else
      report(
          "simcuda: check: " + to_string(finding) + '\n' + memory_of(finding) + line_of(operation),
          operation);
    if (mode == RaceMode::abort) std::abort();
  }
}

void tell_fault(const kernel::Fault &fault, const Operation &operation) {
  tell_fault(to_string(fault), operation);
}

void tell_fault(const std::string &sentence, const Operation &operation) {
  ++count;
  telling = true;
  report("simcuda: fault: " + sentence + '\n' + line_of(operation), operation);
}

void tell_of_call(const char *call, const std::string &wrong, Site site) {
  const RaceMode mode = Settings::get().races;
  ++count;
  if (mode == RaceMode::count) return;
  telling = true;
  {
    std::lock_guard guard(told().mutex);
    if (told().places.size() > most_told) return;
    if (!told().places.insert(call + ('\n' + std::to_string(site))).second) return;
  }
  std::string text = std::string("simcuda: check: ") + call + ' ' + wrong + '\n';
  if (site) text += "simcuda:   called at " + simcuda::told(site) + '\n';
  if (trace::on) trace::found_in_call(text);
  tell(text);
  if (mode == RaceMode::abort) std::abort();
}

std::uint64_t findings_so_far() {
  return count;
}

void forget_findings() {
  count = 0;
  std::lock_guard guard(told().mutex);
  told().places.clear();
}

void say_findings_at_end() {
  const std::uint64_t found = count;
  if (telling && found)
    say("simcuda: " + std::to_string(found) + (found == 1 ? " finding\n" : " findings\n"));
}

}  // namespace simcuda
