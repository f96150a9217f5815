// SPDX-License-Identifier: BSD-3-Clause
// Counts and reports races.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "objects.h"
#include "race_history.h"

namespace simcuda {

enum class RaceMode { off, count, log, abort };

// Two uses of the same bytes without an order; `later` was submitted later.
struct Race {
  Use earlier, later;
  AllocationPtr allocation;  // null: pageable memory
  std::uintptr_t begin, end;
};

class RaceReport {
 public:
  explicit RaceReport(RaceMode mode) : mode_(mode) {}

  void found(const Race &race);
  void forget();

 private:
  const RaceMode mode_;
  std::set<std::string> told_;
  // The last operation compared, and the operations that are known to race with it.
  StepPtr later_;
  std::set<std::pair<const Step *, const Allocation *>> with_;
};

// "0x7f10a60000c0"
std::string hex(std::uintptr_t value);
// Reports it on standard error,
void say(const std::string &text);
// and in this process's file in the folder that `simcuda run` reads at the end.
void tell(const std::string &text);
// The lines with the call site, as far as it is known.
std::string where(const Step &step);
// The same for memory: where it was allocated.
std::string where(const Allocation &allocation);
// "the 256 bytes of device memory at 0x..."
std::string describe_memory(Allocation::Kind kind, std::size_t size, std::uintptr_t address);
std::string describe_memory(const Allocation &allocation);

// Of this process.
std::uint64_t races_found();
// The summary that a process with races prints at its end.
void say_races_at_end();

}  // namespace simcuda
