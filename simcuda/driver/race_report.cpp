// SPDX-License-Identifier: BSD-3-Clause
#include "race_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "driver.h"
#include "process_file.h"
#include "trace.h"

namespace simcuda {
namespace {

constexpr std::size_t most_told = 100;

std::atomic<std::uint64_t> count{0};
std::atomic<bool> telling{false};

// `simcuda run` reads that folder at the end. The reports are also in the file, because the client
// may have redirected standard error.
std::string evidence() {
  return process_file("SIMCUDA_RACE_DIR");
}

void leave_evidence(const std::string &text) {
  const std::string path = evidence();
  if (path.empty()) return;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  [[maybe_unused]] auto written = write(file, text.data(), text.size());
  close(file);
}

// "cuMemsetD8Async", "cuGraphLaunch (memset)", "the host's access".
std::string name_of(const Step &step) {
  const std::string call = step.call;
  const bool of_many = call.starts_with("cuGraph") || call.starts_with("cuLaunch");
  return of_many ? call + " (" + step.what + ')' : call;
}

std::string numbered(const Step &step) {
  return step.by_host() ? name_of(step)
                        : name_of(step) + " (operation " + std::to_string(step.number) + ')';
}

const char *verb(Effect effect) {
  switch (effect) {
    case Effect::reads:
      return " reads";
    case Effect::writes:
      return " writes";
    case Effect::updates:
      return " updates atomically";
    case Effect::allocates:
      return " allocates";
    case Effect::frees:
      return " frees";
    case Effect::names:
      return " names the memory, and is refused";
  }
  return "";
}

std::string headline(const Race &race) {
  const std::string first = numbered(*race.earlier.step), second = numbered(*race.later.step);
  if (race.earlier.effect == Effect::frees)
    return second + " uses memory that " + first + " has freed";
  const std::string unordered = "nothing orders " + first + " before " + second;
  if (race.later.effect == Effect::frees)
    return second + " frees memory that " + first + " may still use: " + unordered;
  if (race.earlier.effect == Effect::allocates)
    return second + " may use memory before " + first + " has allocated it: " + unordered;
  return unordered;
}

std::string line_of(const Use &use) {
  std::string text = "simcuda:   " + numbered(*use.step) + verb(use.effect);
  if (use.detail) text += *use.detail;
  return text + ", on " + use.step->line->name + '\n' + where(*use.step);
}

std::string line_of(const char *what, Site site) {
  return site ? std::string("simcuda:       ") + what + told(site) + '\n' : std::string();
}

std::string memory_of(const Race &race) {
  // An array has no address that a client would know.
  const bool of_array = race.allocation && race.allocation->array;
  const std::uintptr_t from = of_array ? race.allocation->address : 0;
  const std::string text =
      "simcuda:   in bytes " + hex(race.begin - from) + " to " + hex(race.end - from) + " of ";
  if (!race.allocation) return text + "pageable host memory\n";
  return text + describe_memory(*race.allocation) + '\n' + where(*race.allocation);
}

// What a loop repeats is counted each time and reported once.
std::string pair_of(const Race &race) {
  const Step &first = *race.earlier.step, &second = *race.later.step;
  // Arrays have no buffer id.
  const auto memory = !race.allocation         ? 0
                      : race.allocation->array ? race.allocation->array
                                               : race.allocation->buffer_id;
  return name_of(first) + verb(race.earlier.effect) + first.line->name + '\n' + name_of(second) +
         verb(race.later.effect) + second.line->name + '\n' + std::to_string(memory);
}

// "blur.py:48 in main", without those who called main.
std::string innermost(Site site) {
  return site ? told(site).substr(0, told(site).find(", from ")) : std::string();
}

// The stream of a step as its client knows it: by where it was made, which tells it from the
// other's unless both were made there.
std::string stream_of(const Step &step, const Step &other) {
  const std::string made_at = innermost(step.line->made_at);
  if (!made_at.empty() && made_at != innermost(other.line->made_at))
    return "the stream made at " + made_at;
  return step.line->name.substr(0, step.line->name.find(" of context "));
}

// What to do, and the calls that do it.
std::string remedy(const Race &race) {
  const Step &earlier = *race.earlier.step, &later = *race.later.step;
  const std::string first = std::to_string(earlier.number), second = std::to_string(later.number);
  const std::string begin = "simcuda:   ", end = "\n", call = "simcuda:       ";
  if (race.earlier.effect == Effect::frees) {
    return begin + "free it after its last use: call " + earlier.call + " after " + later.call +
           end;
  }
  if (later.by_host()) {
    return begin + "wait for operation " + first +
           " first: for its stream, or for an event recorded after it" + end + call +
           "cuStreamSynchronize(" + stream_of(earlier, later) + ')' + end;
  }
  if (earlier.line->name == later.line->name) {  // two branches of one launch
    return begin + "make operation " + second + " depend on operation " + first +
           " in their graph: by cuGraphAddDependencies, or by an event while it is captured" + end;
  }
  return begin + "record an event after operation " + first + " and wait for it before operation " +
         second + end + call + "cuEventRecord(event, " + stream_of(earlier, later) + ')' + end +
         call + "cuStreamWaitEvent(" + stream_of(later, earlier) + ", event, 0)" + end;
}

}  // namespace

std::string hex(std::uintptr_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
  return text;
}

void say(const std::string &text) {
  [[maybe_unused]] auto written = write(2, text.data(), text.size());
}

void tell(const std::string &text) {
  say(text);
  leave_evidence(text);
}

std::string where(const Step &step) {
  return line_of("called at ", step.site) + line_of("node made at ", step.made_at) +
         line_of("stream made at ", step.line->made_at);
}

std::string where(const Allocation &allocation) {
  return line_of("allocated at ", allocation.made_at);
}

std::string describe_memory(Allocation::Kind kind, std::size_t size, std::uintptr_t address) {
  const char *name = kind == Allocation::Kind::device    ? "device memory"
                     : kind == Allocation::Kind::managed ? "managed memory"
                     : kind == Allocation::Kind::host    ? "page-locked host memory"
                                                         : "registered host memory";
  return "the " + std::to_string(size) + " bytes of " + name + " at " + hex(address);
}

std::string describe_memory(const Allocation &allocation) {
  if (allocation.of_condition)
    return "the value of conditional handle " + hex(allocation.device_address());
  if (allocation.array)
    return "the " + std::to_string(allocation.size) + " bytes of array " + hex(allocation.array);
  if (!allocation.variable.empty())
    return "the " + std::to_string(allocation.size) + " bytes of variable " + allocation.variable +
           " at " + hex(allocation.address);
  return describe_memory(allocation.kind, allocation.size, allocation.address);
}

std::uint64_t races_found() {
  return count;
}

void say_races_at_end() {
  const std::uint64_t found = count;
  if (telling && found)
    say("simcuda: " + std::to_string(found) + (found == 1 ? " race\n" : " races\n"));
}

void RaceReport::found(const Race &race) {
  if (later_ != race.later.step) with_.clear();
  later_ = race.later.step;
  if (!with_.insert({race.earlier.step.get(), race.allocation.get()}).second) return;
  ++count;
  if (mode_ == RaceMode::count) {
    telling = Settings::get().banner;
    return;
  }
  telling = true;
  if (told_.size() > most_told || !told_.insert(pair_of(race)).second) return;
  if (told_.size() > most_told) {
    tell("simcuda: more races are only counted\n");
    return;
  }
  const std::string text = "simcuda: race: " + headline(race) + '\n' + line_of(race.earlier) +
                           line_of(race.later) + memory_of(race) + remedy(race);
  tell(text);
  if (trace::on) trace::raced(race, text);
  if (mode_ == RaceMode::abort) std::abort();
}

void RaceReport::forget() {
  count = 0;
  told_.clear();
  with_.clear();
  later_ = nullptr;
  if (trace::on) trace::forgot_races();
  const std::string path = evidence();
  if (!path.empty()) unlink(path.c_str());
}

}  // namespace simcuda
