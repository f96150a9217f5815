// SPDX-License-Identifier: BSD-3-Clause
// What is wrong inside a kernel: faults stay with the context, and are reported with the nearest
// memory; findings are reported, and counted. Each has a twin in which nothing is wrong.
#include <signal.h>

#include "apart.h"
#include "race_ptx.h"

enum { COUNT = 64, SIZE = COUNT * 4, TIMEOUT = 702, ASSERTION = 710, MISALIGNED = 716 };
enum { ILLEGAL_INSTRUCTION = 715 };

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
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".visible .global .b32 own;\n"
    ".visible .entry release(.param .u64 address)\n"
    "{\n"
    "  .reg .b64 %p; .param .b64 p;\n"
    "  ld.param.u64 %p, [address];\n"
    "  st.param.b64 [p], %p;\n"
    "  call free, (p);\n"
    "  ret;\n"
    "}\n"
    ".visible .entry take(.param .u64 size, .param .u64 out)\n"
    "{\n"
    "  .reg .b64 %p, %n; .param .b64 n, p;\n"
    "  ld.param.u64 %n, [size];\n"
    "  st.param.b64 [n], %n;\n"
    "  call (p), malloc, (n);\n"
    "  ld.param.b64 %n, [p];\n"
    "  ld.param.u64 %p, [out];\n"
    "  st.global.u64 [%p], %n;\n"
    "  ret;\n"
    "}\n"
    // Reads what it has taken, and never written, by an address of any memory, and returns it.
    ".visible .entry borrow()\n"
    "{\n"
    "  .reg .b64 %p; .reg .b32 %v; .param .b64 n, p;\n"
    "  st.param.b64 [n], 16;\n"
    "  call (p), malloc, (n);\n"
    "  ld.param.b64 %p, [p];\n"
    "  ld.u32 %v, [%p];\n"
    "  st.param.b64 [n], %p;\n"
    "  call free, (n);\n"
    "  ret;\n"
    "}\n"
    ".visible .entry meet_at(.param .u32 number)\n"
    "{\n"
    "  .reg .b32 %n;\n"
    "  ld.param.u32 %n, [number];\n"
    "  bar.sync %n;\n"
    "  ret;\n"
    "}\n"
    // Each of two warps waits for the other one elsewhere.
    ".visible .entry miss()\n"
    "{\n"
    "  .reg .b32 %i; .reg .pred %q;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  setp.lt.u32 %q, %i, 32;\n"
    "  @%q bra FIRST;\n"
    "  bar.sync 2;\n"
    "  ret;\n"
    "FIRST:\n"
    "  bar.sync 1;\n"
    "  ret;\n"
    "}\n"
    // Half of a warp waits at one barrier, and half at another one.
    ".visible .entry part()\n"
    "{\n"
    "  .reg .b32 %i; .reg .pred %q;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  setp.lt.u32 %q, %i, 16;\n"
    "  @%q bra FIRST;\n"
    "  bar.sync 0;\n"
    "  ret;\n"
    "FIRST:\n"
    "  bar.sync 0;\n"
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

// As soon as the free has run, the kernel that nothing orders after it finds nothing there.
static void use_freed(const char *kernel) {
  setenv("SIMCUDA_SCHEDULE", "eager", 1);
  const CUmodule module = begin();
  USE_STREAMS;
  USE_POOLS;
  USE(cuCtxSynchronize, 2000, void);
  CUstream one, two;
  CUdeviceptr x, y = memory_of(SIZE);
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(launch(function_in(module, "fill"), 1, 1, two, ARGUMENTS(&y, &value)));
  MUST(cuMemAllocAsync(&x, SIZE, one));
  MUST(cuStreamSynchronize(one));
  MUST(cuMemFreeAsync(x, one));
  if (strcmp(kernel, "fill") == 0)
    MUST(launch(function_in(module, kernel), 1, 1, two, ARGUMENTS(&x, &value)));
  else
    MUST(launch(function_in(module, kernel), 1, 1, two, ARGUMENTS(&y, &x)));
  MUST_BE(cuCtxSynchronize(), ILLEGAL_ADDRESS);
  MUST_BE(sim.races(), 1);
}

static void write_after_free(void) { use_freed("fill"); }
static void read_after_free(void) { use_freed("add"); }

// A kernel frees what malloc has given one of its context, and nothing else.
static CUdeviceptr to_free(int what, CUmodule module) {
  USE(cuModuleGetGlobal, 3020, CUdeviceptr *, size_t *, CUmodule, const char *);
  USE(cuGraphCreate, 10000, CUgraph *, unsigned);
  CUdeviceptr address = 12344, word = memory_of(8);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  unsigned long long size = 16;
  CUgraph graph;
  CUcontext context;
  switch (what) {
    case 0:  // nobody's
      return address;
    case 1:  // memory of the host's program
      return word;
    case 2:  // a variable
    case 3:  // a variable of another module
      MUST(cuModuleGetGlobal(&address, NULL, what == 2 ? module : module_of(text), "own"));
      return address;
    case 4:  // a value of graphs
      if (is_since(12030)) {
        USE(cuGraphConditionalHandleCreate, 12030, CUdeviceptr *, CUgraph, CUcontext, unsigned,
            unsigned);
        MUST(cuGraphCreate(&graph, 0));
        MUST(cuCtxGetCurrent(&context));
        MUST(cuGraphConditionalHandleCreate(&address, graph, context, 0, 0));
      }
      return address;
    default:  // inside of what malloc gave
      MUST(launch(function_in(module, "take"), 1, 1, LEGACY, ARGUMENTS(&size, &word)));
      finish_all();
      USE_MEMORY;
      MUST(cuMemcpyDtoH(&address, word, 8));
      return address + 4;
  }
}

// What a kernel of another context took is not this one's.
static void free_of_other_context(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuCtxSynchronize, 2000, void);
  CUcontext other;
  unsigned long long size = 16;
  MUST(cuCtxCreate(&other, 0, 0));
  CUdeviceptr word = memory_of(8), address = 0;
  MUST(launch(function_in(module_of(text), "take"), 1, 1, LEGACY, ARGUMENTS(&size, &word)));
  MUST(cuMemcpyDtoH(&address, word, 8));
  MUST(cuCtxPopCurrent(NULL));
  MUST(launch(function_in(module, "release"), 1, 1, LEGACY, ARGUMENTS(&address)));
  MUST_BE(cuCtxSynchronize(), ILLEGAL_ADDRESS);
}

static int freed_case;

static void free_wrongly(void) {
  const CUmodule module = begin();
  CUdeviceptr address = to_free(freed_case, module);
  MUST(launch(function_in(module, "release"), 1, 1, LEGACY, ARGUMENTS(&address)));
  must_stay(ILLEGAL_ADDRESS);
}

static void take_and_free(void) {
  const CUmodule module = begin();
  USE_MEMORY;
  CUfunction take = function_in(module, "take"), release = function_in(module, "release");
  CUdeviceptr out = memory_of(8), address = 1;
  unsigned long long sizes[] = {1ull << 50, 16};
  MUST(launch(take, 1, 1, LEGACY, ARGUMENTS(&sizes[0], &out)));
  MUST(cuMemcpyDtoH(&address, out, 8));
  MUST_BE(address, 0);                                       // there is not as much
  MUST(launch(release, 1, 1, LEGACY, ARGUMENTS(&address)));  // which frees nothing
  MUST(launch(take, 1, 1, LEGACY, ARGUMENTS(&sizes[1], &out)));
  MUST(cuMemcpyDtoH(&address, out, 8));
  MUST_HOLD(address != 0);
  MUST_BE(cuMemFree(address), INVALID_VALUE);  // it is no memory of the host's program
  MUST(launch(release, 1, 1, LEGACY, ARGUMENTS(&address)));
  finish_all();
  MUST_BE(sim.findings(), 0);
}

static void read_borrowed(void) {
  const CUmodule module = begin();
  MUST(launch(function_in(module, "borrow"), 1, 1, LEGACY, NULL));
  finish_all();
  MUST_BE(sim.findings(), 1);
  sim.reset();
}

// What another process may have written is not known to be unwritten.
static void read_shared(void) {
  const CUmodule module = begin();
  USE(cuIpcGetMemHandle, 4010, void *, CUdeviceptr);
  char handle[64];
  CUdeviceptr x = memory_of(SIZE), y = memory_of(SIZE);
  MUST(cuIpcGetMemHandle(handle, x));
  MUST(cuIpcGetMemHandle(handle, y));
  MUST(launch(function_in(module, "add"), 1, COUNT, LEGACY, ARGUMENTS(&x, &y)));
  finish_all();
  MUST_BE(sim.findings(), 0);
}

static void meet_nowhere(void) {
  const CUmodule module = begin();
  unsigned number = 16;
  MUST(launch(function_in(module, "meet_at"), 1, 1, LEGACY, ARGUMENTS(&number)));
  must_stay(ILLEGAL_INSTRUCTION);
}

static void meet_never(void) {
  const CUmodule module = begin();
  MUST(launch(function_in(module, "miss"), 1, COUNT, LEGACY, NULL));
  must_stay(TIMEOUT);
}

// Each check finds what it is for, and nothing else.
static const char *wanted_checks;
static unsigned wanted_findings;

static void check_what_is_wanted(void) {
  setenv("SIMCUDA_CHECK", wanted_checks, 1);
  const CUmodule module = begin();
  CUdeviceptr x = memory_of(SIZE), y = memory_of(SIZE);
  MUST(launch(function_in(module, "add"), 1, 1, LEGACY, ARGUMENTS(&x, &y)));
  MUST(launch(function_in(module, "part"), 1, 32, LEGACY, NULL));
  finish_all();
  MUST_BE(sim.findings(), wanted_findings);
  sim.reset();
}

// Each place is told once, up to a hundred of them; all are counted.
static void find_much(void) {
  enum { PLACES = 60 };
  static char much[4096];
  begin();
  CUdeviceptr x = memory_of(4 * PLACES);
  unsigned found = 0;
  for (int kernel = 0; kernel < 2; ++kernel) {
    sprintf(much,
            PTX_HEADER
            ".visible .entry much_%d(.param .u64 from)\n{\n"
            "  .reg .b64 %%p; .reg .b32 %%v;\n  ld.param.u64 %%p, [from];\n",
            kernel);
    for (int i = 0; i < PLACES; ++i)
      sprintf(much + strlen(much), "  ld.global.u32 %%v, [%%p+%d];\n", 4 * i);
    strcat(much, "  ret;\n}\n");
    const CUfunction function = function_in(module_of(much), kernel ? "much_1" : "much_0");
    for (int twice = 0; twice < 2; ++twice) {
      MUST(launch(function, 1, 1, LEGACY, ARGUMENTS(&x)));
      finish_all();
      MUST_BE(sim.findings(), found += PLACES);
    }
  }
  // A call is told of no more, either.
  USE_STREAMS;
  CUstream stream;
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuStreamDestroy(stream));
  MUST_BE(cuStreamQuery(stream), INVALID_HANDLE);
  MUST_BE(sim.findings(), found + 1);
  sim.reset();
}

// The program ends where the first one is told.
static void abort_at_finding(void) {
  setenv("SIMCUDA_RACES", "abort", 1);
  start_races();
  const CUmodule module = module_of(text);
  MUST(launch(function_in(module, "borrow"), 1, 1, LEGACY, NULL));
  finish_all();
}

static void abort_at_call(void) {
  setenv("SIMCUDA_RACES", "abort", 1);
  start_races();
  USE_STREAMS;
  CUstream stream;
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuStreamDestroy(stream));
  (void)cuStreamQuery(stream);
}

static void must_abort(void (*program)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    MUST_HOLD(freopen("/dev/null", "w", stderr) != NULL);
    program();
    _exit(0);
  }
  int status = 0;
  MUST_BE(waitpid(child, &status, 0), child);
  MUST_HOLD(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

// Where nobody looks for races, what was freed is out of reach, and no more.
static void write_after_free_without_races(void) {
  setenv("SIMCUDA_RACES", "off", 1);
  setenv("SIMCUDA_SCHEDULE", "eager", 1);
  start_races();
  USE_POOLS;
  const CUmodule module = module_of(text);
  CUdeviceptr x;
  MUST(cuMemAllocAsync(&x, SIZE, LEGACY));
  MUST(cuMemFreeAsync(x, LEGACY));
  MUST(launch(function_in(module, "fill"), 1, 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
  MUST_BE(sim.races(), 0);
}

// Without races, a fault is what it is, and what kernels do is done.
static void fault_without_races(void) {
  setenv("SIMCUDA_RACES", "off", 1);
  start_races();
  USE_MEMORY;
  const CUmodule module = module_of(text);
  CUdeviceptr x = memory_of(SIZE);
  unsigned word = 0;
  MUST(launch(function_in(module, "fill"), 1, COUNT, LEGACY, ARGUMENTS(&x, &value)));
  MUST(cuMemcpyDtoH(&word, x + SIZE - 4, 4));
  MUST_BE(word, 1);
  MUST(launch(function_in(module, "fill"), 1, COUNT + 1, LEGACY, ARGUMENTS(&x, &value)));
  must_stay(ILLEGAL_ADDRESS);
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
  run_apart(write_after_free);
  must_say("uses memory that cuMemFreeAsync (operation 3) has freed");
  must_say("(kernel fill) (operation 4) writes");
  run_apart(read_after_free);
  must_say("uses memory that cuMemFreeAsync (operation 3) has freed");
  must_say("(kernel add) (operation 4) reads");
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
  for (freed_case = 0; freed_case < 6; ++freed_case) {
    run_apart(free_wrongly);
    must_say("No memory of malloc begins there, or it was freed before.");
  }
  run_apart(free_of_other_context);
  must_say("No memory of malloc begins there, or it was freed before.");
  run_apart(take_and_free);
  run_apart(read_borrowed);
  must_say("of which nobody has written all");
  run_apart(read_shared);
  run_apart(meet_nowhere);
  must_say("Barriers have the numbers 0 to 15.");
  run_apart(meet_never);
  must_say("waits at barrier 1");
  run_apart(write_after_free_without_races);
  must_say("of device memory at 0x");
  run_apart(fault_without_races);
  must_say("simcuda: fault: Kernel fill: thread (64, 0, 0) of block (0, 0, 0) writes 4 bytes");
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
  static const struct {
    const char *checks;
    unsigned findings;
  } wanted[] = {{"memory", 0}, {"init", 2}, {"sync", 1}, {"init,sync", 3}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    wanted_checks = wanted[i].checks;
    wanted_findings = wanted[i].findings;
    run_apart(check_what_is_wanted);
  }
  run_apart(find_much);
  must_say("simcuda: more findings are only counted\n");
  size_t told = 0;
  for (const char *at = said; (at = strstr(at, "simcuda: check: ")); ++at) ++told;
  MUST_BE(told, 100);
  must_abort(abort_at_finding);
  must_abort(abort_at_call);
  run_apart(look_at_nothing);
  run_apart(misspell);
  must_say("SIMCUDA_CHECK=memory,races: is no list of memory, race, init, sync");
  return 0;
}
