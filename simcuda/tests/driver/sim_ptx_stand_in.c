// SPDX-License-Identifier: BSD-3-Clause
// A function of the test's in the place of a kernel gets the memory that it asks for, if a kernel
// could use it so; else that is a fault, as of the ranges that a registered kernel states.
#include "apart.h"
#include "race_ptx.h"

enum { COUNT = 64, SIZE = COUNT * 4 };

static const char text[] = PTX_HEADER
    ".const .b32 factor[4] = {3, 3, 3, 3};\n"
    ".visible .entry halt()\n{\n  trap;\n}\n"
    ".visible .entry with(.param .u64 address)\n{\n  trap;\n}\n";

static CUmodule begin(void) {
  setenv("SIMCUDA_RACES", "log", 1);
  start_races();
  return module_of(text);
}

static void must_stay(CUresult error) {
  USE_MEMORY;
  USE(cuCtxSynchronize, 2000, void);
  CUdeviceptr memory;
  MUST_BE(cuCtxSynchronize(), error);
  MUST_BE(cuMemAlloc(&memory, 4), error);
  MUST_BE(sim.findings(), 1);  // the fault itself
}

static CUdeviceptr factor_of(CUmodule module) {
  USE(cuModuleGetGlobal, 3020, CUdeviceptr *, size_t *, CUmodule, const char *);
  CUdeviceptr factor;
  MUST(cuModuleGetGlobal(&factor, NULL, module, "factor"));
  return factor;
}

// Asks for what the test says.
static void *(*use)(uint64_t, uint64_t, int32_t);
static struct {
  CUdeviceptr address;
  size_t size;
  int writes, ignores;
  unsigned char first;
} asked;

static int32_t ask(const simcuda_launch *launch, void *data) {
  (void)launch, (void)data;
  const unsigned char *bytes = use(asked.address, asked.size, asked.writes);
  if (bytes && asked.size) asked.first = *bytes;
  return bytes || asked.ignores ? 0 : LAUNCH_FAILED;
}

// The kernel that it stands in for, and memory whose every byte is 7.
static CUfunction begin_asking(void) {
  begin();
  FIND_SIM(simcuda_stand_in);
  FIND_SIM(simcuda_use);
  USE_MEMORY;
  use = simcuda_use;
  MUST_BE(simcuda_stand_in("halt", NULL, 0, NULL, NULL), INVALID_VALUE);
  MUST(simcuda_stand_in("halt", NULL, 0, ask, NULL));
  asked.address = memory_of(SIZE);
  asked.size = SIZE;
  MUST(cuMemsetD8Async(asked.address, 7, SIZE, LEGACY));
  MUST_BE(use(asked.address, 1, 0) == NULL, 1);  // which is for stand-ins alone
  return function_in(module_of(text), "halt");
}

static void ask_rightly(void) {
  const CUfunction halt = begin_asking();
  for (asked.writes = 0; asked.writes < 2; ++asked.writes) {
    MUST(launch(halt, 1, 1, LEGACY, NULL));
    finish_all();
    MUST_BE(asked.first, 7);
  }
  // The host's memory, which it may have written itself.
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  unsigned char *host;
  MUST(cuMemHostAlloc((void **)&host, SIZE, 0));
  *host = 9;
  asked.address = (uintptr_t)host;
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  finish_all();
  MUST_BE(asked.first, 9);
  asked.size = 0;  // nothing, anywhere
  asked.address = 5;
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  finish_all();
  MUST_BE(sim.findings(), 0);
}

static void read_too_much(void) {
  const CUfunction halt = begin_asking();
  asked.size = SIZE + 1;
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  must_stay(ILLEGAL_ADDRESS);
}

static void write_nowhere(void) {
  const CUfunction halt = begin_asking();
  asked.address = 5;
  asked.writes = asked.ignores = 1;
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  must_stay(ILLEGAL_ADDRESS);
}

static void write_constant(void) {
  const CUfunction halt = begin_asking();
  asked.address = factor_of(module_of(text));
  asked.size = 16;
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  finish_all();
  MUST_BE(asked.first, 3);
  asked.writes = 1;
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  must_stay(ILLEGAL_ADDRESS);
}

static void read_other_device(void) {
  const CUfunction halt = begin_asking();
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  CUcontext other;
  MUST(cuCtxCreate(&other, 0, 1));
  asked.address = memory_of(SIZE);
  MUST(cuCtxPopCurrent(NULL));
  MUST(launch(halt, 1, 1, LEGACY, NULL));
  must_stay(ILLEGAL_ADDRESS);
}

// Memory that is named, and freed before the kernel runs, holds anything.
static void read_gone(void) {
  setenv("SIMCUDA_SCHEDULE", "lazy", 1);
  begin();
  FIND_SIM(simcuda_stand_in);
  FIND_SIM(simcuda_use);
  USE_MEMORY;
  USE_POOLS;
  USE_STREAMS;
  const uint32_t size = 8;
  CUstream stream;
  use = simcuda_use;
  MUST(simcuda_stand_in("with", &size, 1, ask, NULL));
  const CUfunction with = function_in(module_of(text), "with");
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&asked.address, SIZE, stream));
  MUST(cuStreamSynchronize(stream));
  asked.size = SIZE;
  MUST(launch(with, 1, 1, stream, ARGUMENTS(&asked.address)));
  MUST(cuMemFree(asked.address));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(asked.first, 0xDB);
  MUST_BE(sim.races(), 1);
}

static uint32_t all_of_it(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  (void)launch;
  if (capacity) out[0] = (simcuda_range){asked.address, asked.size, 1, 0, 0};
  return 1;
}

static void state_constant(void) {
  begin();
  FIND_SIM(simcuda_kernel);
  USE(cuModuleGetGlobal, 3020, CUdeviceptr *, size_t *, CUmodule, const char *);
  MUST(simcuda_kernel("all", NULL, 0, all_of_it, NULL));
  MUST(cuModuleGetGlobal(&asked.address, &asked.size,
                         module_of(PTX_HEADER ".const .b32 factor[4] = {3, 3, 3, 3};\n"),
                         "factor"));
  const CUmodule module = module_of("simcuda module\nall\n");
  MUST(launch(function_in(module, "all"), 1, 1, LEGACY, NULL));
  must_stay(ILLEGAL_ADDRESS);
}

int main(void) {
  run_apart(ask_rightly);
  run_apart(read_too_much);
  must_say("simcuda: fault: Kernel halt: its stand-in reads 257 bytes at address 0x");
  must_say("It goes beyond the end of the 256 bytes of device memory");
  run_apart(write_nowhere);
  must_say("its stand-in writes 256 bytes at address 0x5, where it has no such memory");
  run_apart(write_constant);
  must_say("its stand-in writes 16 bytes at address 0x");
  must_say("It must not be written.");
  run_apart(read_other_device);
  must_say("That is memory of device 1, to which its context has no access.");
  run_apart(read_gone);
  run_apart(state_constant);
  must_say("Kernel all: its range 0 has 16 bytes at address 0x");
  must_say("It must not be written.");
  return 0;
}
