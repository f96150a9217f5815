// SPDX-License-Identifier: BSD-3-Clause
// The calls of libcai that order work: each is written down with its stack, and one of them can be
// dropped, so that it reports success and does nothing.
#pragma once

#include <cstdint>

namespace mutants {

constexpr int most_calls = 128;
constexpr int most_frames = 48;

// The result if a call is dropped.
enum class Expected { race, nothing, refusal };

struct Call {
  char function[40];
  Expected expected;
  int depth;
  std::uint64_t frames[most_frames];  // offsets in this program, the innermost first
};

struct Outcome {
  int calls;
  Call call[most_calls];
  std::uint64_t races;
  int refused;   // the CUresult with which the driver refused what the scenario did, or 0
  int finished;  // 1: the scenario came to its end
};

// One run of a scenario, in memory that is shared with the parent process.
extern Outcome *outcome;

// Records the calls of this process; `dropped` counts from 0, -1: none.
void watch(int dropped);

}  // namespace mutants
