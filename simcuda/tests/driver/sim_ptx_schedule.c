// SPDX-License-Identifier: BSD-3-Clause
// Kernels among other work: a seed repeats what it did, pools find room behind them, the host's own
// accesses race with them, and a context that fails ends those that run in it.
#include "race_ptx.h"

enum { STREAMS = 4, COUNT = 16, SIZE = COUNT * 4, MIB = 1 << 20 };

static const char text[] = PTX_HEADER PTX_FILL PTX_WAIT ".visible .entry halt()\n{\n  trap;\n}\n";

static CUfunction fill;

// Kernels and memset of several streams, which nothing orders; what each cell holds in the end.
static void race(CUdeviceptr x, unsigned char *outcome) {
  USE_MEMORY;
  USE_STREAMS;
  CUstream streams[STREAMS];
  for (unsigned i = 0; i < STREAMS; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  for (unsigned i = 0; i < COUNT; ++i) {
    CUdeviceptr cell = x + 4 * i;
    for (unsigned k = 0; k < STREAMS; ++k) {
      const unsigned value = k + 1;
      if ((i + k) % 3)
        MUST(launch(fill, 1, 1, streams[k], ARGUMENTS(&cell, (void *)&value)));
      else
        MUST(cuMemsetD8Async(cell, (unsigned char)value, 1, streams[k]));
    }
  }
  finish_all();
  unsigned words[COUNT];
  MUST(cuMemcpyDtoH(words, x, SIZE));
  for (int i = 0; i < COUNT; ++i) outcome[i] = (unsigned char)words[i];
  for (unsigned i = 0; i < STREAMS; ++i) MUST(cuStreamDestroy(streams[i]));
}

static void check_repeats(void) {
  USE_MEMORY;
  USE_SIM(void, simcuda_reseed, uint64_t);
  USE_SIM(void, simcuda_forget, void);
  enum { SEEDS = 10 };
  unsigned char first[COUNT], again[COUNT];
  CUdeviceptr x;
  MUST(cuMemAlloc(&x, SIZE));
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    simcuda_forget();
    simcuda_reseed(seed);
    race(x, first);
    simcuda_forget();
    simcuda_reseed(seed);
    race(x, again);
    MUST_BE(memcmp(first, again, COUNT), 0);
  }
  MUST(cuMemFree(x));
  sim.reset();
}

// Each allocation leaves room for no other one, and each is freed behind a kernel that has yet to
// run.
static void check_room(void) {
  USE_POOLS;
  CUdeviceptr memory;
  unsigned value = 1;
  for (unsigned size = 5; size <= 8; ++size) {
    MUST(cuMemAllocAsync(&memory, size * MIB, LEGACY));
    MUST(launch(fill, 1, 1, LEGACY, ARGUMENTS(&memory, &value)));
    MUST(cuMemFreeAsync(memory, LEGACY));
  }
  finish_all();
  MUST_BE(sim.races(), 0);
}

// The host looks at what a kernel writes.
static void check_host(void) {
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  void *memory;
  unsigned value = 1;
  MUST(cuMemHostAlloc(&memory, SIZE, 0));
  CUdeviceptr address = (uintptr_t)memory;
  RACY(MUST(launch(fill, 1, COUNT, LEGACY, ARGUMENTS(&address, &value)));
       MUST(sim.host_access(memory, 4, 0)););
  RACE_FREE(MUST(launch(fill, 1, COUNT, LEGACY, ARGUMENTS(&address, &value)));
            MUST(cuStreamSynchronize(LEGACY)); MUST(sim.host_access(memory, 4, 0)););
  // The host may use memory that the kernel does not write.
  RACE_FREE(MUST(launch(fill, 1, 1, LEGACY, ARGUMENTS(&address, &value)));
            MUST(sim.host_access((char *)memory + 4, 4, 1)););
  MUST(cuMemFreeHost(memory));
}

// A kernel that would wait forever ends with its context.
static void check_failure(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  CUcontext context;
  CUstream one, two;
  CUdeviceptr word;
  MUST(cuCtxCreate(&context, 0, 0));
  const CUmodule module = module_of(text);
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuMemAlloc(&word, 4));
  MUST(cuMemsetD8Async(word, 0, 4, one));
  const CUfunction wait_for = function_in(module, "wait_for");
  MUST(launch(wait_for, 1, 1, one, ARGUMENTS(&word)));
  (void)cuStreamQuery(one), (void)cuStreamQuery(one);
  MUST(launch(function_in(module, "halt"), 1, 1, two, NULL));
  // Work after it does not begin; a call after it has run fails.
  const CUresult behind = launch(wait_for, 1, 1, two, ARGUMENTS(&word));
  MUST_BE(behind == SUCCESS || behind == LAUNCH_FAILED, 1);
  MUST_BE(cuCtxSynchronize(), LAUNCH_FAILED);
  MUST_BE(cuStreamQuery(one), LAUNCH_FAILED);
  MUST(cuCtxDestroy(context));
}

int main(void) {
  setenv("SIMCUDA_DEVICE_MIB", "9", 1);
  start_races();
  const CUmodule module = module_of(text);
  fill = function_in(module, "fill");
  check_repeats();
  check_room();
  check_host();
  MUST_BE(sim.findings(), 0);
  check_failure();
  MUST_BE(sim.findings(), 1);  // its trap
  return 0;
}
