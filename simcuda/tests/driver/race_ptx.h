// SPDX-License-Identifier: BSD-3-Clause
// For programs that prove what races of kernels simcuda finds.
#pragma once

#include "ptx.h"
#include "race_test.h"

// What kernels use is known once they have run. How many pairs race may then depend on what was
// compared with what, but not whether any do.
#define RACE_FREE(...) RACES(0, { __VA_ARGS__ finish_all(); })
#define RACY(...)                \
  do {                           \
    sim.reset();                 \
    {__VA_ARGS__} finish_all();  \
    MUST_BE(sim.races() > 0, 1); \
    sim.reset();                 \
  } while (0)
