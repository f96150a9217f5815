// SPDX-License-Identifier: BSD-3-Clause
// What is wrong inside a kernel: faults stay with the context, and are reported with the nearest
// memory; findings are reported, and counted. Each has a twin in which nothing is wrong.
#include "apart.h"
#include "race_ptx.h"

enum { COUNT = 64, SIZE = COUNT * 4, TIMEOUT = 702, ASSERTION = 710, MISALIGNED = 716 };

static const char text[] = PTX_HEADER PTX_FILL PTX_ADD PTX_WAIT
    ".visible .entry halt()\n{\n  trap;\n}\n"
    ".visible .entry spin()\n{\nAGAIN:\n  bra AGAIN;\n}\n"
    ".file 1 \"set.cu\"\n"
    ".visible .entry set(.param .u64 out)\n"
    "{\n"
    "  .reg .b64 %p;\n"
    "  ld.param.u64 %p, [out];\n"
    "  .loc 1 7 0\n"
    "  st.global.u32 [%p], 1;\n"
    "  ret;\n"
    "}\n"
    // Each thread writes to shared memory, and reads what the next one has written; `met` waits at
    // a barrier in between.
    ".visible .entry unmet(.param .u64 out)\n"
    "{\n"
    "  .shared .b32 room[64];\n"
    "  .reg .b32 %i, %v, %a; .reg .b64 %p;\n"
    "  ld.param.u64 %p, [out];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %a, room;\n"
    "  mad.lo.u32 %v, %i, 4, %a;\n"
    "  st.shared.u32 [%v], %i;\n"
    "  xor.b32 %v, %i, 32;\n"
    "  mad.lo.u32 %v, %v, 4, %a;\n"
    "  ld.shared.u32 %v, [%v];\n"
    "  mad.wide.u32 %p, %i, 4, %p;\n"
    "  st.global.u32 [%p], %v;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry met(.param .u64 out)\n"
    "{\n"
    "  .shared .b32 room[64];\n"
    "  .reg .b32 %i, %v, %a; .reg .b64 %p;\n"
    "  ld.param.u64 %p, [out];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  mov.u32 %a, room;\n"
    "  mad.lo.u32 %v, %i, 4, %a;\n"
    "  st.shared.u32 [%v], %i;\n"
    "  bar.sync 0;\n"
    "  xor.b32 %v, %i, 32;\n"
    "  mad.lo.u32 %v, %v, 4, %a;\n"
    "  ld.shared.u32 %v, [%v];\n"
    "  mad.wide.u32 %p, %i, 4, %p;\n"
    "  st.global.u32 [%p], %v;\n"
    "  ret;\n"
    "}\n";

static CUmodule begin(void) {
  setenv("SIMCUDA_RACES", "log", 1);
  start_races();
  return module_of(text);
}

static CUdeviceptr memory_of(size_t size) {
  USE_MEMORY;
  CUdeviceptr memory;
  MUST(cuMemAlloc(&memory, size));
  return memory;
}

// The context keeps the error; another one is well.
static void must_stay(CUresult error) {
  USE_MEMORY;
  USE(cuCtxSynchronize, 2000, void);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  CUdeviceptr memory;
  CUcontext other;
  MUST_BE(cuCtxSynchronize(), error);
  MUST_BE(cuMemAlloc(&memory, 4), error);
  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuMemAlloc(&memory, 4));
  MUST_BE(sim.findings(), 1);  // the fault itself
}

static unsigned value = 1;

static void write_too_far(void) {
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(SIZE);
  MUST(launch(function_in(module, "fill"), 1, COUNT, LEGACY, ARGUMENTS(&x, &value)));
  finish_all();
  MUST(launch(function_in(module, "fill"), 1, COUNT + 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

static void write_misaligned(void) {
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(SIZE) + 2;
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(MISALIGNED);
}

static void write_freed(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  CUdeviceptr x = memory_of(SIZE);
  MUST(cuMemFree(x));
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

// The free that nothing orders before the kernel, whatever has run by then.
static void write_freed_in_order(void) {
  const CUmodule module = begin();
  USE_STREAMS;
  USE_POOLS;
  USE(cuCtxSynchronize, 2000, void);
  CUstream one, two;
  CUdeviceptr x;
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuMemAllocAsync(&x, SIZE, one));
  MUST(cuStreamSynchronize(one));
  MUST(cuMemFreeAsync(x, one));
  MUST(launch(function_in(module, "fill"), 1, 1, two, ARGUMENTS(&x, &value)));
  (void)cuCtxSynchronize();  // where the free has run, the kernel finds nothing
  MUST_BE(sim.races(), 1);
}

// A node keeps the memory that it was made with.
static void write_freed_in_graph(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  CUdeviceptr x = memory_of(SIZE);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(launch(function_in(module, "fill"), 1, 1, stream, ARGUMENTS(&x, &value)));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuMemFree(x));
  MUST(cuGraphLaunch(exec, stream));
  finish_all();
  MUST_BE(sim.races(), 1);
}

// A kernel that a test has registered says what it uses.
static uint32_t too_much(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  const uint64_t address = *(const uint64_t *)launch->arguments[0];
  if (capacity) out[0] = (simcuda_range){address, SIZE + 1, 1, 0, 0};
  return 1;
}

static void state_too_much(void) {
  begin();
  FIND_SIM(simcuda_kernel);
  const uint32_t size = 8;
  MUST(simcuda_kernel("much", &size, 1, too_much, NULL));
  CUdeviceptr x = memory_of(SIZE);
  const CUmodule module = module_of("simcuda module\nmuch\n");
  MUST(launch(function_in(module, "much"), 1, 1, LEGACY, ARGUMENTS(&x)));
  must_stay(ILLEGAL_ADDRESS);
}

static void write_before(void) {
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(SIZE) - 4;
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

// Where another block had more room before.
static void write_behind_reused(void) {
  const CUmodule module = begin();
  USE_POOLS;
  CUdeviceptr x, y;
  MUST(cuMemAllocAsync(&x, 4 * SIZE, LEGACY));
  MUST(cuMemFreeAsync(x, LEGACY));
  finish_all();
  MUST(cuMemAllocAsync(&y, SIZE, LEGACY));
  MUST_BE(x == y, 1);
  x = y + SIZE;
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

static void write_to_host(void) {
  const CUmodule module = begin();
  static unsigned words[4];
  void *x = words;
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

static void write_to_other_device(void) {
  const CUmodule module = begin();
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuCtxEnablePeerAccess, 4000, CUcontext, unsigned);
  CUcontext other;
  MUST(cuCtxCreate(&other, 0, 1));
  CUdeviceptr x = memory_of(SIZE);
  MUST(cuCtxPopCurrent(NULL));
  CUdeviceptr y = memory_of(SIZE);
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&y, &value)));
  MUST(cuCtxEnablePeerAccess(other, 0));
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  finish_all();
  USE(cuCtxDisablePeerAccess, 4000, CUcontext);
  MUST(cuCtxDisablePeerAccess(other));
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

static void execute_trap(void) {
  const CUmodule module = begin();
  MUST(launch(function_in(module, "halt"), 1, 1, LEGACY, NULL));
  must_stay(LAUNCH_FAILED);
}

static void go_on_for_ever(void) {
  setenv("SIMCUDA_KERNEL_LIMIT", "1", 1);
  const CUmodule module = begin();
  USE_MEMORY;
  CUdeviceptr x = memory_of(4);
  MUST(cuMemsetD8Async(x, 0, 4, LEGACY));
  MUST(launch(function_in(module, "wait_for"), 1, 1, LEGACY, ARGUMENTS(&x)));
  must_stay(TIMEOUT);
}

static void go_on_for_ever_on_threads(void) {
  setenv("SIMCUDA_KERNEL_LIMIT", "1", 1);
  setenv("SIMCUDA_KERNEL_THREADS", "4", 1);
  const CUmodule module = begin();
  MUST(launch(function_in(module, "spin"), 64, 1, LEGACY, NULL));
  must_stay(TIMEOUT);
}

// Of all blocks that write too far, on any thread.
static void write_too_far_from_many_blocks(void) {
  enum { BLOCKS = 4000, GOOD = 2345 };
  setenv("SIMCUDA_KERNEL_THREADS", "4", 1);
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(GOOD * SIZE);
  MUST(launch(function_in(module, "fill"), BLOCKS, COUNT, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
}

// `add` reads what nobody has written, of one word alone.
static void read_unwritten(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  CUdeviceptr x = memory_of(SIZE), y = memory_of(SIZE);
  CUfunction add = function_in(module, "add");
  MUST(launch(function_in(module, "fill"), 1, COUNT, LEGACY, ARGUMENTS(&x, &value)));
  MUST(cuMemsetD8Async(y, 0, 5 * 4, LEGACY));
  MUST(cuMemcpyDtoDAsync(y + 6 * 4, x, SIZE - 6 * 4, LEGACY));
  finish_all();
  MUST_BE(sim.findings(), 0);
  MUST(launch(add, 1, COUNT, LEGACY, ARGUMENTS(&x, &y)));
  finish_all();
  MUST_BE(sim.findings(), 1);
  MUST(cuMemsetD8Async(y + 5 * 4, 0, 4, LEGACY));
  MUST(launch(add, 1, COUNT, LEGACY, ARGUMENTS(&x, &y)));
  finish_all();
  MUST_BE(sim.findings(), 1);
  sim.reset();
  MUST_BE(sim.findings(), 0);
}

// Memory of a pool is new each time.
static void read_reused(void) {
  const CUmodule module = begin();
  USE_POOLS;
  CUdeviceptr x, y = memory_of(4);
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&y, &value)));
  MUST(cuMemAllocAsync(&x, 4, LEGACY));
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  MUST(launch(function_in(module, "add"), 1, 1, LEGACY, ARGUMENTS(&y, &x)));
  MUST(cuMemFreeAsync(x, LEGACY));
  finish_all();
  MUST_BE(sim.findings(), 0);
  MUST(cuMemAllocAsync(&x, 4, LEGACY));
  MUST(launch(function_in(module, "add"), 1, 1, LEGACY, ARGUMENTS(&y, &x)));
  finish_all();
  MUST_BE(sim.findings(), 1);
  sim.reset();
}

static void race_in_block(void) {
  setenv("SIMCUDA_CHECK", "race", 1);
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(SIZE);
  MUST(launch(function_in(module, "met"), 1, COUNT, LEGACY, ARGUMENTS(&x)));
  finish_all();
  MUST_BE(sim.findings(), 0);
  MUST(launch(function_in(module, "unmet"), 1, COUNT, LEGACY, ARGUMENTS(&x)));
  finish_all();
  MUST_BE(sim.findings(), 2);  // at each of the two instructions
  sim.reset();
}

// A copy does not wait for a kernel: the report names what the kernel did, and where.
static void race_with_copy(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  USE_STREAMS;
  CUstream a, b;
  CUdeviceptr x = memory_of(SIZE);
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(launch(function_in(module, "set"), 1, 1, a, ARGUMENTS(&x)));
  MUST(cuMemcpyDtoDAsync(x + 4, x, 4, b));
  finish_all();
  MUST_BE(sim.races(), 1);
}

// Checks that are not requested are not made.
static void look_at_nothing(void) {
  setenv("SIMCUDA_CHECK", "memory", 1);
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(SIZE), y = memory_of(SIZE);
  MUST(launch(function_in(module, "add"), 1, COUNT, LEGACY, ARGUMENTS(&x, &y)));
  MUST(launch(function_in(module, "unmet"), 1, COUNT, LEGACY, ARGUMENTS(&x)));
  finish_all();
  MUST_BE(sim.findings(), 0);
}

static void misspell(void) {
  setenv("SIMCUDA_CHECK", "memory,races", 1);
  open_driver();
  USE(cuInit, 2000, unsigned);
  MUST_BE(cuInit(0), INVALID_VALUE);
}

int main(void) {
  run_apart(write_too_far);
  must_say("simcuda: fault: Kernel fill: thread (64, 0, 0) of block (0, 0, 0) writes 4 bytes");
  must_say("It is 0 bytes behind the end of the 256 bytes of device memory");
  must_say("of its PTX (st.global.u32)");
  must_say("cuLaunchKernel on the legacy stream");
  run_apart(write_misaligned);
  must_say("which is no multiple of 4");
  run_apart(write_freed);
  must_say("of device memory at 0x");
  must_say("which are freed");
  run_apart(write_freed_in_order);
  must_say(
      "cuLaunchKernel (kernel fill) (operation 3) uses memory that cuMemFreeAsync (operation 2) has freed");
  run_apart(write_freed_in_graph);
  must_say("cuGraphLaunch (kernel fill) (operation 2) uses memory that cuMemFree has freed");
  must_say("free it after its last use: call cuMemFree after cuGraphLaunch");
  run_apart(state_too_much);
  must_say("simcuda: fault: Kernel much: its range 0 has 257 bytes at address 0x");
  must_say("It goes beyond the end of the 256 bytes of device memory");
  run_apart(write_before);
  must_say("It is 4 bytes before the 256 bytes of device memory");
  run_apart(write_behind_reused);
  must_say("It is 0 bytes behind the end of the 256 bytes of device memory");
  run_apart(write_to_host);
  must_say("where it has no memory");
  run_apart(write_to_other_device);
  must_say("memory of device 1, to which its context has no access");
  run_apart(execute_trap);
  must_say("executed a trap");
  run_apart(go_on_for_ever);
  must_say("Kernel wait_for: it was stopped");
  must_say("of its PTX");
  run_apart(go_on_for_ever_on_threads);
  must_say("Kernel spin: it was stopped");
  must_say("It had run for more than 1 seconds");
  run_apart(write_too_far_from_many_blocks);
  must_say("thread (0, 0, 0) of block (2345, 0, 0) writes 4 bytes");
  run_apart(read_unwritten);
  must_say("simcuda: check: Kernel add: thread (5, 0, 0) of block (0, 0, 0) reads 4 bytes");
  must_say("of which nobody has written all");
  run_apart(read_reused);
  run_apart(race_in_block);
  must_say("No barrier orders the two");
  run_apart(race_with_copy);
  must_say("nothing orders cuLaunchKernel (kernel set) (operation 1) before cuMemcpyDtoDAsync");
  must_say("writes by parameter 1 (out), first in set, set.cu:7, line ");
  run_apart(look_at_nothing);
  run_apart(misspell);
  must_say("SIMCUDA_CHECK=memory,races: is no list of memory, race, init, sync");
  return 0;
}
