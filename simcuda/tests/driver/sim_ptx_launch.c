// SPDX-License-Identifier: BSD-3-Clause
// Kernels of PTX run in the order of their stream, with the arguments of their launch, and give the
// right numbers; what does not fit is refused; two contexts have variables of their own.
#include "race_ptx.h"

enum { COUNT = 256, SIZE = COUNT * 4, TOO_LARGE = 720, INVALID_IMAGE = 200, COOPERATIVE = 2 };

static const char text[] = PTX_HEADER
    ".global .u32 total = 5;\n"
    ".global .u64 pointer = total;\n"
    ".const .u32 factor = 3;\n"
    ".extern .shared .b32 room[];\n" PTX_FILL PTX_ADD
    // Adds the factor to the total, which it reaches by the pointer.
    ".visible .entry grow()\n"
    "{\n"
    "  .reg .b32 %f; .reg .b64 %p;\n"
    "  ld.global.u64 %p, [pointer];\n"
    "  ld.const.u32 %f, [factor];\n"
    "  atom.global.add.u32 %f, [%p], %f;\n"
    "  ret;\n"
    "}\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".extern .func free(.param .b64 p);\n"
    ".global .align 1 .b8 format[] = {37, 117, 10, 0};\n"
    ".visible .entry idle()\n{\n  ret;\n}\n"
    // A variable that holds a function, which the kernel calls by it.
    ".func seven(.param .u64 to)\n"
    "{\n"
    "  .reg .b64 %p;\n"
    "  ld.param.u64 %p, [to];\n"
    "  st.u32 [%p], 7;\n"
    "  ret;\n"
    "}\n"
    ".global .u64 chosen = seven;\n"
    ".visible .entry call_chosen(.param .u64 to)\n"
    "{\n"
    "  .reg .b64 %p, %f; .param .b64 a;\n"
    "  ld.param.u64 %p, [to];\n"
    "  ld.global.u64 %f, [chosen];\n"
    "  st.param.b64 [a], %p;\n"
    "  P: .callprototype _ (.param .b64 _);\n"
    "  call %f, (a), P;\n"
    "  ret;\n"
    "}\n"
    // Takes memory, writes its index there and prints it from there.
    ".visible .entry say()\n"
    "{\n"
    "  .reg .b32 %i; .reg .b64 %p, %f; .param .b64 n, p, f, a; .param .b32 r;\n"
    "  st.param.b64 [n], 4;\n"
    "  call (p), malloc, (n);\n"
    "  ld.param.b64 %p, [p];\n"
    "  mov.u32 %i, %tid.x;\n"
    "  st.u32 [%p], %i;\n"
    "  mov.u64 %f, format;\n"
    "  cvta.global.u64 %f, %f;\n"
    "  st.param.b64 [f], %f;\n"
    "  st.param.b64 [a], %p;\n"
    "  call (r), vprintf, (f, a);\n"
    "  st.param.b64 [n], %p;\n"
    "  call free, (n);\n"
    "  ret;\n"
    "}\n"
    // Turns the elements of a block around, by way of shared memory.
    ".visible .entry turn(.param .u64 data)\n"
    "{\n"
    "  .reg .b32 %i, %n, %v, %a; .reg .b64 %p, %q;\n"
    "  ld.param.u64 %p, [data];\n"
    "  mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x;\n"
    "  mad.wide.u32 %q, %i, 4, %p;\n"
    "  ld.global.u32 %v, [%q];\n"
    "  mov.u32 %a, room;\n"
    "  mad.lo.u32 %a, %i, 4, %a;\n"
    "  st.shared.u32 [%a], %v;\n"
    "  bar.sync 0;\n"
    "  sub.u32 %i, %n, %i; sub.u32 %i, %i, 1;\n"
    "  mov.u32 %a, room;\n"
    "  mad.lo.u32 %a, %i, 4, %a;\n"
    "  ld.shared.u32 %v, [%a];\n"
    "  st.global.u32 [%q], %v;\n"
    "  ret;\n"
    "}\n";

static unsigned read_word(CUdeviceptr address) {
  USE_MEMORY;
  unsigned word = 0;
  MUST(cuMemcpyDtoH(&word, address, 4));
  return word;
}

static void check_numbers(CUmodule module) {
  USE_MEMORY;
  USE_STREAMS;
  USE_KERNELS;
  unsigned words[COUNT], value = 7;
  CUdeviceptr to, from;
  CUstream stream;
  CUfunction fill = function_in(module, "fill"), turn = function_in(module, "turn");
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&to, SIZE));
  MUST(cuMemAlloc(&from, SIZE));
  MUST(launch(fill, 2, COUNT / 2, stream, ARGUMENTS(&to, &value)));
  value = 4;
  MUST(launch(fill, 4, COUNT / 4, stream, ARGUMENTS(&from, &value)));
  value = 1;  // too late for both
  MUST(launch(function_in(module, "add"), 1, COUNT, stream, ARGUMENTS(&to, &from)));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(words, to, SIZE));
  for (int i = 0; i < COUNT; ++i) MUST_BE(words[i], 11);

  for (unsigned i = 0; i < COUNT; ++i) words[i] = i;
  MUST(cuMemcpyHtoD(to, words, SIZE));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuLaunchKernel(turn, 1, 1, 1, COUNT, 1, 1, SIZE, stream, ARGUMENTS(&to), NULL));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(words, to, SIZE));
  for (unsigned i = 0; i < COUNT; ++i) MUST_BE(words[i], COUNT - 1 - i);

  // In one buffer, as long as the parameters, without the padding of a structure. An H100's driver
  // accepts a shorter one, and reads what follows it.
  struct {
    CUdeviceptr to;
    unsigned value;
  } packed = {to, 9};
  size_t size = 12, less = 11, more = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
  void *short_one[] = {(void *)1, &packed, (void *)2, &less, NULL};
  void *long_one[] = {(void *)1, &packed, (void *)2, &more, NULL};
  MUST(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
  MUST_BE(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, NULL, short_one), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, stream, NULL, long_one), OUT_OF_RESOURCES);
  MUST(cuStreamSynchronize(stream));
  MUST_BE(read_word(to), 9);

  // Arguments that do not fit.
  void **arguments = ARGUMENTS(&to, &value);
  MUST_BE(launch(fill, 1, 1025, stream, arguments), INVALID_VALUE);
  MUST_BE(launch(fill, 0, 1, stream, arguments), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(fill, 1, 65536, 1, 1, 1, 1, 0, stream, arguments, NULL), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 65, 0, stream, arguments, NULL), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 49153, stream, arguments, NULL), INVALID_VALUE);
  MUST_BE(launch(fill, 1, 1, stream, NULL), INVALID_VALUE);
  MUST_BE(launch(NULL, 1, 1, stream, arguments), INVALID_HANDLE);
  USE(cuLaunchCooperativeKernel, 9000, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
      unsigned, unsigned, CUstream, void **);
  MUST_BE(cuLaunchCooperativeKernel(fill, 100000, 1, 1, 1, 1, 1, 0, stream, arguments), TOO_LARGE);
  // Or by an attribute, which may also say that it is not.
  typedef struct {  // CUlaunchAttribute
    int id, pad, value, rest[15];
  } Attribute;
  Attribute cooperative = {COOPERATIVE, 0, 1, {0}};
  const struct {  // CUlaunchConfig
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    Attribute *attributes;
    unsigned count;
  } config = {{100000, 1, 1}, {1, 1, 1}, 0, stream, &cooperative, 1};
  USE(cuLaunchKernelEx, 11060, const void *, CUfunction, void **, void **);
  MUST_BE(cuLaunchKernelEx(&config, function_in(module, "grow"), NULL, NULL), TOO_LARGE);
  cooperative.value = 0;
  MUST(cuLaunchKernelEx(&config, function_in(module, "idle"), NULL, NULL));
  MUST(launch(function_in(module, "call_chosen"), 1, 1, stream, ARGUMENTS(&to)));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(read_word(to), 7);
  MUST(cuLaunchCooperativeKernel(fill, 2, 1, 1, COUNT / 2, 1, 1, 0, stream, arguments));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(read_word(to + SIZE - 4), 1);
}

static void check_variables(CUmodule module, CUcontext context) {
  USE_MEMORY;
  USE(cuModuleGetGlobal, 3020, CUdeviceptr *, size_t *, CUmodule, const char *);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  USE_SIM(uint64_t, simcuda_objects, const char *);
  CUdeviceptr total, factor, other_total;
  size_t size = 0;
  MUST_BE(cuModuleGetGlobal(&total, &size, module, "nothing"), NOT_FOUND);
  MUST(cuModuleGetGlobal(&total, &size, module, "total"));
  MUST_BE(size, 4);
  MUST(cuModuleGetGlobal(&factor, NULL, module, "factor"));
  MUST(cuModuleGetGlobal(NULL, &size, module, "pointer"));
  MUST_BE(size, 8);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  MUST_BE(cuMemFree(total), INVALID_VALUE);
  MUST_BE(cuMemFreeAsync(total, LEGACY), INVALID_VALUE);
  MUST_BE(read_word(total), 5);
  CUfunction grow = function_in(module, "grow");
  MUST(launch(grow, 1, 2, LEGACY, NULL));
  MUST(cuCtxSynchronize());
  MUST_BE(read_word(total), 11);
  const unsigned hundred = 100;
  MUST(cuMemcpyHtoD(factor, &hundred, 4));
  MUST(launch(grow, 1, 1, LEGACY, NULL));
  MUST(cuCtxSynchronize());
  MUST_BE(read_word(total), 111);

  const uint64_t objects = simcuda_objects("CUdeviceptr");
  CUcontext second;
  MUST(cuCtxCreate(&second, 0, 1));
  MUST_BE(launch(grow, 1, 1, LEGACY, NULL), INVALID_HANDLE);
  CUmodule other = module_of(text);
  MUST_BE(simcuda_objects("CUdeviceptr"), objects);
  MUST(cuModuleGetGlobal(&other_total, NULL, other, "total"));
  MUST(launch(function_in(other, "grow"), 1, 1, LEGACY, NULL));
  MUST(cuCtxSynchronize());
  MUST_BE(read_word(other_total), 8);
  MUST(cuCtxDestroy(second));
  MUST(cuCtxSetCurrent(context));
  MUST_BE(read_word(total), 111);
  MUST_BE(cuMemcpyDtoH(&size, other_total, 4), INVALID_VALUE);
}

// A module goes while its kernel has yet to run.
static void check_unload(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuModuleUnload, 2000, CUmodule);
  CUmodule module = module_of(text);
  CUdeviceptr to;
  unsigned value = 3;
  CUfunction fill = function_in(module, "fill");
  MUST(cuMemAlloc(&to, 4));
  MUST(launch(function_in(module, "grow"), 1, 1, LEGACY, NULL));
  MUST(launch(fill, 1, 1, LEGACY, ARGUMENTS(&to, &value)));
  MUST(cuModuleUnload(module));
  MUST_BE(launch(fill, 1, 1, LEGACY, ARGUMENTS(&to, &value)), INVALID_HANDLE);
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(read_word(to), 3);
  MUST(cuMemFree(to));
}

// Kernels print to standard output, after they have run. Memory that they allocate belongs to them
// alone.
static void check_printed(CUmodule module) {
  USE_SIM(uint64_t, simcuda_objects, const char *);
  const uint64_t objects = simcuda_objects("CUdeviceptr");
  char printed[64] = "";
  int ends[2];
  fflush(stdout);
  MUST_BE(pipe(ends), 0);
  const int before = dup(1);
  dup2(ends[1], 1);
  close(ends[1]);
  MUST(launch(function_in(module, "say"), 1, 3, LEGACY, NULL));
  finish_all();
  dup2(before, 1);  // closes the pipe
  MUST_BE(read(ends[0], printed, sizeof printed - 1), 6);
  MUST_BE(strcmp(printed, "0\n1\n2\n"), 0);
  MUST_BE(simcuda_objects("CUdeviceptr"), objects);
  close(before), close(ends[0]);
}

// However much it is.
static void check_much_printed(CUmodule module) {
  enum { BLOCKS = 17, THREADS = 1024 };
  char path[] = "/tmp/simcuda-XXXXXX", printed[8];
  const int file = mkstemp(path), before = dup(1);
  MUST_HOLD(file >= 0);
  unlink(path);
  fflush(stdout);
  dup2(file, 1);
  MUST(launch(function_in(module, "say"), BLOCKS, THREADS, LEGACY, NULL));
  finish_all();
  dup2(before, 1);
  MUST_BE(lseek(file, 0, SEEK_END), BLOCKS * (10 * 2 + 90 * 3 + 900 * 4 + 24 * 5));
  MUST_BE(pread(file, printed, 5, BLOCKS * 4010 - 5), 5);
  MUST_BE(memcmp(printed, "1023\n", 5), 0);
  close(before), close(file);
}

int main(void) {
  const CUcontext context = start_races();
  CUmodule module = module_of(text);
  check_numbers(module);
  check_variables(module, context);
  check_unload();
  check_printed(module);
  check_much_printed(module);
  MUST_BE(sim.races(), 0);
  MUST_BE(sim.findings(), 0);
  return 0;
}
