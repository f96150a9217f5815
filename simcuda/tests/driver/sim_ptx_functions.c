// SPDX-License-Identifier: BSD-3-Clause
// What modules, libraries, functions and kernels say of themselves, and how many blocks fit.
#include "race_ptx.h"

enum { MAX_THREADS = 0, SHARED = 1, CONST = 2, LOCAL = 3, REGISTERS = 4, PTX = 5, BINARY = 6 };
enum { DYNAMIC_SHARED = 8, CARVEOUT = 9, MULTIPROCESSORS = 132 };

static const char text[] = PTX_HEADER
    ".const .b32 table[16];\n"
    ".visible .global .attribute(.managed) .b32 everybody = 4;\n" PTX_FILL
    ".visible .entry bounded(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[12])\n"
    ".maxntid 128, 2, 1\n"
    "{\n"
    "  .shared .align 4 .b8 room[1000];\n"
    "  .local .align 4 .b8 own[64];\n"
    "  .reg .b32 %v, %a;\n"
    "  mov.u32 %a, room;\n"
    "  ld.shared.u32 %v, [%a];\n"
    "  st.local.u32 [own], %v;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry shaped()\n.reqntid 32, 2, 1\n{\n  ret;\n}\n";

static size_t half_of(int threads) {
  USE(cuCtxGetDevice, 2000, CUdevice *);  // the client's function may call the driver
  CUdevice device;
  MUST(cuCtxGetDevice(&device));
  return (size_t)threads * 48;
}

static void check_function(CUmodule module) {
  USE_KERNELS;
  USE(cuFuncGetAttribute, 2020, int *, int, CUfunction);
  USE(cuFuncSetAttribute, 9000, CUfunction, int, int);
  USE(cuFuncSetCacheConfig, 3000, CUfunction, int);
  USE(cuFuncGetParamInfo, 12040, CUfunction, size_t, size_t *, size_t *);
  USE(cuFuncLoad, 12040, CUfunction);
  USE(cuFuncIsLoaded, 12040, int *, CUfunction);
  CUfunction bounded = function_in(module, "bounded"), fill = function_in(module, "fill");
  static const int expected[][2] = {
      {MAX_THREADS, 256}, {SHARED, 1000}, {CONST, 64},
      {LOCAL, 64},  // which nothing uses: a compiler leaves it out
      {PTX, 80},          {BINARY, 90},   {DYNAMIC_SHARED, 49152 - 1000},
      {CARVEOUT, -1}};
  int value = 0;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
    MUST(cuFuncGetAttribute(&value, expected[i][0], bounded));
    MUST_BE(value, expected[i][1]);
  }
  MUST(cuFuncGetAttribute(&value, REGISTERS, bounded));
  MUST_BE(value > 0 && value < 256, 1);
  MUST(cuFuncGetAttribute(&value, MAX_THREADS, fill));
  MUST_BE(value, 1024);
  MUST_BE(cuFuncGetAttribute(&value, 100, fill), INVALID_VALUE);
  MUST_BE(cuFuncGetAttribute(&value, -1, fill), INVALID_VALUE);
  MUST_BE(cuFuncGetAttribute(NULL, SHARED, fill), INVALID_VALUE);
  MUST_BE(cuFuncGetAttribute(&value, SHARED, NULL), INVALID_HANDLE);

  size_t offset = 0, size = 0;
  MUST(cuFuncGetParamInfo(bounded, 1, &offset, &size));
  MUST_BE(offset, 8);
  MUST_BE(size, 8);
  MUST(cuFuncGetParamInfo(bounded, 2, &offset, NULL));
  MUST_BE(offset, 16);
  MUST_BE(cuFuncGetParamInfo(bounded, 3, &offset, &size), INVALID_VALUE);
  MUST_BE(cuFuncGetParamInfo(bounded, 1, NULL, &size), INVALID_VALUE);
  MUST(cuFuncLoad(fill));
  MUST(cuFuncIsLoaded(&value, fill));
  MUST_BE(value, 1);
  MUST(cuFuncSetCacheConfig(fill, 2));
  MUST(cuFuncSetCacheConfig(fill, 0));  // with 2 an H100 would leave 8 KiB of shared memory
  MUST_BE(cuFuncSetCacheConfig(fill, 4), INVALID_VALUE);
  MUST_BE(cuFuncSetCacheConfig(fill, -1), INVALID_VALUE);

  char arguments[28] = {0};
  void **pointers = ARGUMENTS(arguments, arguments + 8, arguments + 16);
  MUST_BE(launch(bounded, 1, 257, LEGACY, pointers), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(bounded, 1, 1, 1, 1, 1, 1, 60000, LEGACY, pointers, NULL), INVALID_VALUE);
  MUST_BE(cuFuncSetAttribute(bounded, DYNAMIC_SHARED, 232448), INVALID_VALUE);
  MUST_BE(cuFuncSetAttribute(bounded, DYNAMIC_SHARED, -1), INVALID_VALUE);
  MUST_BE(cuFuncSetAttribute(bounded, SHARED, 5), INVALID_VALUE);
  MUST_BE(cuFuncSetAttribute(bounded, 100, 5), INVALID_VALUE);
  // A share of the memory in percent, or -1 for the default.
  MUST_BE(cuFuncSetAttribute(bounded, CARVEOUT, -2), INVALID_VALUE);
  MUST_BE(cuFuncSetAttribute(bounded, CARVEOUT, 101), INVALID_VALUE);
  MUST(cuFuncSetAttribute(bounded, CARVEOUT, 100));
  MUST(cuFuncGetAttribute(&value, CARVEOUT, bounded));
  MUST_BE(value, 100);
  MUST(cuFuncSetAttribute(bounded, CARVEOUT, -1));
  MUST(cuFuncSetAttribute(bounded, DYNAMIC_SHARED, 232448 - 1000));
  MUST(cuFuncGetAttribute(&value, DYNAMIC_SHARED, bounded));
  MUST_BE(value, 232448 - 1000);
  MUST(cuLaunchKernel(bounded, 1, 1, 1, 1, 1, 1, 60000, LEGACY, pointers, NULL));
  finish_all();
}

// A kernel that says of what shape its blocks are has no others.
static void check_shape(CUmodule module) {
  USE_KERNELS;
  USE(cuFuncGetAttribute, 2020, int *, int, CUfunction);
  const CUfunction shaped = function_in(module, "shaped");
  int threads = 0;
  MUST(cuFuncGetAttribute(&threads, MAX_THREADS, shaped));
  MUST_BE(threads, 64);
  MUST(cuLaunchKernel(shaped, 1, 1, 1, 32, 2, 1, 0, LEGACY, NULL, NULL));
  MUST_BE(cuLaunchKernel(shaped, 1, 1, 1, 64, 1, 1, 0, LEGACY, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(shaped, 1, 1, 1, 32, 1, 1, 0, LEGACY, NULL, NULL), INVALID_VALUE);
  finish_all();
}

static size_t too_much_for(int threads) {
  (void)threads;
  return 1 << 20;
}

static void check_occupancy(CUmodule module) {
  USE(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, int *, CUfunction, int, size_t);
  USE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, int *, CUfunction, int, size_t,
      unsigned);
  USE(cuOccupancyMaxPotentialBlockSize, 6050, int *, int *, CUfunction, size_t (*)(int), size_t,
      int);
  USE(cuOccupancyAvailableDynamicSMemPerBlock, 10020, size_t *, CUfunction, int, int);
  USE(cuFuncSetAttribute, 9000, CUfunction, int, int);
  CUfunction fill = function_in(module, "fill"), bounded = function_in(module, "bounded");
  int count = 0, grid = 0, block = 0;
  size_t available = 0;
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 1024, 0));
  MUST_BE(count, 2);
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 32, 0));
  MUST_BE(count, 32);
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 32, 100000));
  MUST_BE(count, 0);  // more than is allowed
  MUST(cuFuncSetAttribute(fill, DYNAMIC_SHARED, 100000));
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 32, 100000));
  MUST_BE(count, 2);
  MUST(cuFuncSetAttribute(fill, DYNAMIC_SHARED, 48 << 10));
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, bounded, 1024, 0, 1));
  MUST_BE(count, 2);  // whatever the kernel allows
  MUST_BE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, fill, 32, 0, 8),
          INVALID_VALUE);
  MUST_BE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 0, 0), INVALID_VALUE);
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, fill, 1025, 0));
  MUST_BE(count, 0);  // no block is as large
  MUST(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, NULL, 0, 0));
  MUST_BE(block, 1024);
  MUST_BE(grid, 2 * MULTIPROCESSORS);
  MUST(cuOccupancyMaxPotentialBlockSize(&grid, &block, bounded, NULL, 0, 0));
  MUST_BE(block, 256);
  MUST(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, NULL, 0, 100));
  MUST_BE(block, 64);  // as many warps as with 100 threads, and more blocks
  MUST(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, half_of, 0, 0));
  MUST_BE(block > 0 && grid > 0, 1);
  MUST_BE(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, NULL, 0, -1), INVALID_VALUE);
  MUST_BE(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, too_much_for, 0, 0), INVALID_VALUE);
  MUST_BE(cuOccupancyAvailableDynamicSMemPerBlock(&available, fill, 0, 1024), INVALID_VALUE);
  MUST_BE(cuOccupancyAvailableDynamicSMemPerBlock(&available, fill, 2, 0), INVALID_VALUE);
  MUST(cuOccupancyAvailableDynamicSMemPerBlock(&available, fill, 2, 1024));
  MUST_BE(available, 48 << 10);  // which is what is allowed
  MUST(cuFuncSetAttribute(fill, DYNAMIC_SHARED, 200000));
  MUST(cuOccupancyAvailableDynamicSMemPerBlock(&available, fill, 2, 1024));
  MUST_BE(available, 233472 / 2);
  MUST(cuFuncSetAttribute(fill, DYNAMIC_SHARED, 48 << 10));
  MUST_BE(cuOccupancyAvailableDynamicSMemPerBlock(&available, fill, 3, 1024), INVALID_VALUE);
}

static void check_clusters(CUmodule module) {
  typedef struct {  // CUlaunchAttribute
    int id, pad;
    unsigned sizes[16];
  } Attribute;
  struct {  // CUlaunchConfig
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    Attribute *attributes;
    unsigned count;
  } config = {{128, 2, 1}, {1024, 1, 1}, 0, NULL, NULL, 0};
  enum { CLUSTER_WIDTH = 11, NOT_PORTABLE = 14, CLUSTER = 4, PRIORITY = 8 };
  enum { INVALID_CLUSTER_SIZE = 912 };
  USE(cuFuncSetAttribute, 9000, CUfunction, int, int);
  USE(cuOccupancyMaxPotentialClusterSize, 11070, int *, CUfunction, const void *);
  USE(cuOccupancyMaxActiveClusters, 11070, int *, CUfunction, const void *);
  CUfunction fill = function_in(module, "fill");
  Attribute with_other[] = {{PRIORITY, 0, {0}}, {CLUSTER, 0, {2, 2, 1}}}, size = with_other[1];
  int found = 0;
  MUST(cuOccupancyMaxPotentialClusterSize(&found, fill, &config));
  MUST_BE(found, 8);
  MUST(cuOccupancyMaxActiveClusters(&found, fill, &config));
  MUST_BE(found, 0);  // there are no clusters
  config.attributes = &size;
  config.count = 1;
  MUST(cuOccupancyMaxActiveClusters(&found, fill, &config));
  MUST_BE(found, 2 * MULTIPROCESSORS / 4);  // on an H200 62: the most that there can be is this
  config.grid[1] = 3;                       // not whole clusters
  MUST_BE(cuOccupancyMaxActiveClusters(&found, fill, &config), INVALID_CLUSTER_SIZE);
  MUST_BE(cuOccupancyMaxPotentialClusterSize(&found, fill, &config), INVALID_CLUSTER_SIZE);
  config.grid[1] = 2;
  size.sizes[0] = 8;
  MUST_BE(cuOccupancyMaxActiveClusters(&found, fill, &config), INVALID_CLUSTER_SIZE);
  MUST(cuFuncSetAttribute(fill, NOT_PORTABLE, 1));
  MUST(cuOccupancyMaxPotentialClusterSize(&found, fill, &config));
  MUST_BE(found, 16);
  MUST(cuOccupancyMaxActiveClusters(&found, fill, &config));
  size.sizes[0] = 0;
  MUST_BE(cuOccupancyMaxActiveClusters(&found, fill, &config), INVALID_CLUSTER_SIZE);
  // What the kernel requires, and other attributes say nothing of it.
  for (int axis = 0; axis < 3; ++axis)
    MUST(cuFuncSetAttribute(fill, CLUSTER_WIDTH + axis, axis < 2 ? 2 : 1));
  config.attributes = with_other;
  config.count = 2;
  MUST(cuOccupancyMaxActiveClusters(&found, fill, &config));
  MUST_BE(found, 2 * MULTIPROCESSORS / 4);
  MUST(cuOccupancyMaxPotentialClusterSize(&found, fill, &config));
  MUST_BE(found, 4);
  with_other[1].sizes[1] = 1;
  MUST_BE(cuOccupancyMaxActiveClusters(&found, fill, &config), INVALID_CLUSTER_SIZE);
  for (int axis = 0; axis < 3; ++axis) MUST(cuFuncSetAttribute(fill, CLUSTER_WIDTH + axis, 0));
  // Of blocks without threads there are none, if that is no error.
  size = (Attribute){CLUSTER, 0, {2, 1, 1}};
  config.attributes = &size;
  config.count = 1;
  config.block[0] = 0;
  found = 0;
  MUST_HOLD(cuOccupancyMaxActiveClusters(&found, fill, &config) != SUCCESS || found == 0);
  config.block[0] = 1024;
  MUST_BE(cuOccupancyMaxActiveClusters(NULL, fill, &config), INVALID_VALUE);
  MUST_BE(cuOccupancyMaxActiveClusters(&found, fill, NULL), INVALID_VALUE);
  MUST_BE(cuOccupancyMaxPotentialClusterSize(&found, fill, NULL), INVALID_VALUE);
}

static void check_library(void) {
  USE_MEMORY;
  USE_KERNELS;
  USE(cuLibraryLoadData, 12000, CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
      unsigned);
  USE(cuLibraryUnload, 12000, CUlibrary);
  USE(cuLibraryGetKernel, 12000, CUkernel *, CUlibrary, const char *);
  USE(cuLibraryGetKernelCount, 12040, unsigned *, CUlibrary);
  USE(cuLibraryEnumerateKernels, 12040, CUkernel *, unsigned, CUlibrary);
  USE(cuLibraryGetGlobal, 12000, CUdeviceptr *, size_t *, CUlibrary, const char *);
  USE(cuLibraryGetManaged, 12000, CUdeviceptr *, size_t *, CUlibrary, const char *);
  USE(cuKernelGetFunction, 12000, CUfunction *, CUkernel);
  USE(cuKernelGetAttribute, 12000, int *, int, CUkernel, CUdevice);
  USE(cuKernelSetAttribute, 12000, int, int, CUkernel, CUdevice);
  USE(cuKernelSetCacheConfig, 12000, CUkernel, int, CUdevice);
  USE(cuKernelGetParamInfo, 12040, CUkernel, size_t, size_t *, size_t *);
  USE(cuFuncGetAttribute, 2020, int *, int, CUfunction);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  CUlibrary library;
  CUkernel kernel, kernels[4] = {NULL, NULL, NULL, NULL};
  CUfunction function;
  CUdeviceptr table, there, memory;
  CUcontext second;
  unsigned count = 0, value = 3, found = 0;
  int attribute = 0;
  size_t size = 0, offset = 0;
  MUST(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
  MUST(cuLibraryGetKernelCount(&count, library));
  MUST_BE(count, 3);
  MUST(cuLibraryEnumerateKernels(kernels, 2, library));
  MUST_BE(kernels[0] && kernels[1] && !kernels[2], 1);
  MUST(cuLibraryEnumerateKernels(kernels, 4, library));
  MUST_BE(kernels[2] && !kernels[3], 1);
  MUST(cuLibraryGetKernel(&kernel, library, "fill"));
  MUST_BE(cuLibraryGetKernel(&kernel, library, "nothing"), NOT_FOUND);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuCtxPushCurrent, 4000, CUcontext);
  CUcontext context;
  MUST(cuCtxPopCurrent(&context));
  MUST_BE(cuKernelGetParamInfo(kernel, 1, &offset, &size), INVALID_CONTEXT);
  MUST(cuCtxPushCurrent(context));
  MUST(cuKernelGetParamInfo(kernel, 1, &offset, &size));
  MUST_BE(offset, 8);
  MUST(cuKernelSetCacheConfig(kernel, 1, 0));
  MUST(cuKernelSetAttribute(DYNAMIC_SHARED, 65536, kernel, 0));
  MUST(cuKernelGetAttribute(&attribute, DYNAMIC_SHARED, kernel, 0));
  MUST_BE(attribute, 65536);
  MUST(cuKernelGetFunction(&function, kernel));
  MUST(cuFuncGetAttribute(&attribute, DYNAMIC_SHARED, function));
  MUST_BE(attribute, 65536);
  MUST(cuLibraryGetGlobal(&table, &size, library, "table"));
  MUST_BE(size, 64);
  MUST_BE(cuLibraryGetManaged(&there, &size, library, "table"), NOT_FOUND);
  MUST(cuLibraryGetManaged(&there, &size, library, "everybody"));
  MUST_BE(*(unsigned *)(uintptr_t)there, 4);  // as the host sees it
  MUST(cuCtxCreate(&second, 0, 1));
  MUST(cuLibraryGetGlobal(&there, &size, library, "table"));
  MUST_BE(there != table, 1);
  // A kernel runs in whatever context the stream has.
  MUST(cuMemAlloc(&memory, 4));
  MUST(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, LEGACY, ARGUMENTS(&memory, &value), NULL));
  finish_all();
  MUST(cuMemcpyDtoH(&found, memory, 4));
  MUST_BE(found, 3);
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, LEGACY, ARGUMENTS(&memory, &value), NULL),
          INVALID_HANDLE);
  MUST(cuCtxDestroy(second));
  MUST(cuLibraryUnload(library));
  MUST_BE(cuLibraryGetKernelCount(&count, library), INVALID_HANDLE);
}

// How long the bytes must stay valid is all that there is to say of a library.
static void check_library_options(void) {
  USE(cuLibraryLoadData, 12000, CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
      unsigned);
  USE(cuLibraryUnload, 12000, CUlibrary);
  enum { PRESERVED = 1 };
  CUlibrary library;
  void *values[] = {(void *)1};
  int preserved[] = {PRESERVED}, negative[] = {-1}, unknown[] = {99};
  MUST(cuLibraryLoadData(&library, text, NULL, NULL, 0, preserved, values, 1));
  MUST(cuLibraryUnload(library));
  const struct {
    int *options;
    void **values;
  } bad[] = {{NULL, values}, {preserved, NULL}, {negative, values}, {unknown, values}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    MUST_BE(cuLibraryLoadData(&library, text, NULL, NULL, 0, bad[i].options, bad[i].values, 1),
            INVALID_VALUE);
}

int main(void) {
  start_races();
  USE(cuModuleGetFunctionCount, 12040, unsigned *, CUmodule);
  USE(cuModuleEnumerateFunctions, 12040, CUfunction *, unsigned, CUmodule);
  const CUmodule module = module_of(text);
  CUfunction functions[3] = {NULL, NULL, NULL};
  unsigned count = 0;
  MUST(cuModuleGetFunctionCount(&count, module));
  MUST_BE(count, 3);
  MUST(cuModuleEnumerateFunctions(functions, 1, module));
  MUST_BE(functions[0] && !functions[1], 1);
  MUST_BE(cuModuleEnumerateFunctions(NULL, 1, module), INVALID_VALUE);
  check_function(module);
  check_shape(module);
  check_occupancy(module);
  check_clusters(module);
  check_library();
  check_library_options();
  MUST_BE(sim.races(), 0);
  return 0;
}
