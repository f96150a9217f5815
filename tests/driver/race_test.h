// SPDX-License-Identifier: BSD-3-Clause
// For programs that prove what races simcuda finds: each has pairs, of which one lacks an edge.
#pragma once

#include "driver_test.h"

static uint64_t (*simcuda_races)(void);
static void (*simcuda_reset)(void);
static int32_t (*simcuda_host_access)(const void *, uint64_t, int32_t);

static inline CUcontext start_races(void) {
  const CUcontext context = start();
  *(void **)&simcuda_races = dlsym(library, "simcuda_races");
  *(void **)&simcuda_reset = dlsym(library, "simcuda_reset");
  *(void **)&simcuda_host_access = dlsym(library, "simcuda_host_access");
  return context;
}

// What follows races so many times. Whatever it leaves behind is finished, and forgotten.
#define RACES(expected, ...)                         \
  do {                                               \
    simcuda_reset();                                 \
    {__VA_ARGS__} EXPECT(simcuda_races(), expected); \
    simcuda_reset();                                 \
    EXPECT(simcuda_races(), 0);                      \
  } while (0)
