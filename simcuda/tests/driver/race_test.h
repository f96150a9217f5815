// SPDX-License-Identifier: BSD-3-Clause
// For programs that prove what races simcuda finds: each has pairs, of which one lacks an edge.
#pragma once

#include "driver_test.h"
#include "simcuda.h"

static struct {
  __typeof__(simcuda_races) *races;
  __typeof__(simcuda_findings) *findings;
  __typeof__(simcuda_reset) *reset;
  __typeof__(simcuda_host_access) *host_access;
} sim;

static inline CUcontext start_races(void) {
  const CUcontext context = start();
  *(void **)&sim.races = dlsym(library, "simcuda_races");
  *(void **)&sim.findings = dlsym(library, "simcuda_findings");
  *(void **)&sim.reset = dlsym(library, "simcuda_reset");
  *(void **)&sim.host_access = dlsym(library, "simcuda_host_access");
  return context;
}

// What follows races so many times. Whatever it leaves behind is finished, and forgotten.
#define RACES(expected, ...)                      \
  do {                                            \
    sim.reset();                                  \
    {__VA_ARGS__} MUST_BE(sim.races(), expected); \
    sim.reset();                                  \
    MUST_BE(sim.races(), 0);                      \
  } while (0)
