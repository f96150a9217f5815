// SPDX-License-Identifier: BSD-3-Clause
#include "check_report.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "driver.h"

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

// "simcuda:   as operation 3, on blocking stream ...".
std::string line_of(const Operation &operation) {
  std::string text = "simcuda:   as operation " + std::to_string(operation.id);
  if (!operation.step) return text + '\n';
  text += ", " + std::string(operation.step->call) + " on " + operation.step->line->name + '\n';
  return text + where(*operation.step);
}

// What a loop of launches would repeat is counted each time, and told once.
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
      tell("simcuda: more findings in kernels are only counted\n");
    else
      tell("simcuda: check: " + to_string(finding) + '\n' + line_of(operation));
    if (mode == RaceMode::abort) std::abort();
  }
}

void tell_fault(const kernel::Fault &fault, const Operation &operation) {
  tell_fault(to_string(fault), operation);
}

void tell_fault(const std::string &what, const Operation &operation) {
  say("simcuda: fault: " + what + '\n' + line_of(operation));
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
    say("simcuda: " + std::to_string(found) +
        (found == 1 ? " finding in a kernel\n" : " findings in kernels\n"));
}

}  // namespace simcuda
