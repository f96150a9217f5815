// SPDX-License-Identifier: BSD-3-Clause
// What launches take and refuse: arguments that are missing, many ranges, memory out of reach or
// gone, functions and modules of others; and what simcuda_kernel and simcuda_busy refuse.
#include "simcuda.h"

#include "driver_test.h"

enum { SIZE = 64, MANY = 40 };

typedef struct {
  int id;
  char padding[4], value[64];
} Attribute;

typedef struct {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  Attribute *attributes;
  unsigned count;
} Config;

typedef struct {
  CUfunction function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
  CUkernel kernel;
  CUcontext context;
} KernelNode;

static struct {
  uint64_t address, size;
} reached;

// Fills the range that its two arguments name.
static uint32_t one_range(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  const uint64_t address = *(const uint64_t *)launch->arguments[0];
  const uint64_t size = *(const uint64_t *)launch->arguments[1];
  if (capacity > 0) out[0] = (simcuda_range){address, size, 1, 0, 0};
  return 1;
}

static int32_t fill(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)launch, (void)count;
  reached.address = ranges[0].address;
  reached.size = ranges[0].size;
  if (ranges[0].bytes) memset(ranges[0].bytes, 5, ranges[0].size);
  return 0;
}

static int first_byte;

static int32_t look(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)launch, (void)count;
  first_byte = *(const unsigned char *)ranges[0].bytes;
  return 0;
}

// One byte each, more than are asked for at first.
static uint32_t many_ranges(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  const uint64_t address = *(const uint64_t *)launch->arguments[0];
  for (uint32_t i = 0; i < MANY && i < capacity; ++i)
    out[i] = (simcuda_range){address + i, 1, 1, 0, 0};
  return MANY;
}

static int32_t fill_many(const simcuda_launch *launch, const simcuda_range *ranges,
                         uint32_t count) {
  (void)launch;
  if (count != MANY) return LAUNCH_FAILED;
  for (uint32_t i = 0; i < count; ++i) *(unsigned char *)ranges[i].bytes = (unsigned char)i;
  return 0;
}

static const char image[] = "simcuda module\nfill\nlook\nmany\nuneven\n";

static void register_kernels(void) {
  FIND_SIM(simcuda_kernel);
  const uint32_t two[] = {8, 8}, one[] = {8}, uneven[] = {1, 8};
  MUST(simcuda_kernel("fill", two, 2, one_range, fill));
  MUST(simcuda_kernel("look", two, 2, one_range, look));
  MUST(simcuda_kernel("many", one, 1, many_ranges, fill_many));
  MUST(simcuda_kernel("uneven", uneven, 2, NULL, NULL));
  MUST_BE(simcuda_kernel("", one, 1, NULL, NULL), INVALID_VALUE);
  MUST_BE(simcuda_kernel("none", NULL, 1, NULL, NULL), INVALID_VALUE);
}

#define LAUNCH(function, arguments) \
  cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, LEGACY, arguments, NULL)

static void check_launches(CUmodule module) {
  USE_MEMORY;
  USE_STREAMS;
  USE_KERNELS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  unsigned char bytes[SIZE];
  CUfunction function, many, uneven;
  CUdeviceptr data;
  uint64_t size = SIZE, address;
  void *host;
  MUST(cuModuleGetFunction(&function, module, "fill"));
  MUST(cuModuleGetFunction(&many, module, "many"));
  MUST(cuMemAlloc(&data, SIZE));
  void *arguments[] = {&data, &size}, *missing[] = {&data, NULL};
  MUST_BE(LAUNCH(function, missing), INVALID_VALUE);
  MUST_BE(cuLaunchKernel(function, 1, 1, 1, 1, 1, 0, 0, LEGACY, arguments, NULL), INVALID_VALUE);

  // In one buffer: it has to exist, hold them all, and have known keys.
  struct {
    CUdeviceptr data;
    uint64_t size;
  } packed = {data, SIZE};
  size_t whole = sizeof packed, none = 0, part = 12;
  void *good[] = {(void *)1, &packed, (void *)2, &whole, NULL};
  void *no_buffer[] = {(void *)2, &whole, NULL};
  void *no_size[] = {(void *)1, &packed, NULL};
  void *empty[] = {(void *)1, &packed, (void *)2, &none, NULL};
  void *too_small[] = {(void *)1, &packed, (void *)2, &part, NULL};
  void *unknown[] = {(void *)3, &packed, NULL};
  void **wrong[] = {no_buffer, no_size, empty, too_small, unknown};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    MUST_BE(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, LEGACY, NULL, wrong[i]), INVALID_VALUE);
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, LEGACY, NULL, good));
  // The second of these begins after the end of one byte.
  size_t byte = 1;
  void *ends_early[] = {(void *)1, &packed, (void *)2, &byte, NULL};
  MUST(cuModuleGetFunction(&uneven, module, "uneven"));
  MUST_BE(cuLaunchKernel(uneven, 1, 1, 1, 1, 1, 1, 0, LEGACY, NULL, ends_early), INVALID_VALUE);
  MUST(cuLaunchKernel(uneven, 1, 1, 1, 1, 1, 1, 0, LEGACY, NULL, good));
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST_BE(bytes[SIZE - 1], 5);

  MUST(LAUNCH(many, arguments));
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST_BE(bytes[MANY - 1], MANY - 1);
  MUST_BE(bytes[MANY], 5);

  // Memory of the host is in reach; a range of no bytes is nowhere.
  MUST(cuMemHostAlloc(&host, SIZE, 0));
  address = (uintptr_t)host;
  void *on_host[] = {&address, &size}, *nothing[] = {&address, &none};
  MUST(LAUNCH(function, on_host));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(((unsigned char *)host)[SIZE - 1], 5);
  MUST(LAUNCH(function, nothing));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(reached.address == address && reached.size == 0, 1);
  MUST(cuMemFreeHost(host));
  MUST(cuMemFree(data));
}

// Memory that a kernel names is freed before it runs: it reads poison.
static void check_freed(CUmodule module) {
  USE_MEMORY;
  USE_STREAMS;
  USE_KERNELS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  CUfunction function;
  CUdeviceptr data;
  CUstream stream;
  uint64_t size = SIZE;
  MUST(cuModuleGetFunction(&function, module, "look"));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, SIZE, stream));
  MUST(cuStreamSynchronize(stream));
  void *arguments[] = {&data, &size};
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
  MUST(cuMemFree(data));  // which waits for nobody, as it is a pool's
  MUST(cuStreamSynchronize(stream));
  MUST_BE(first_byte, 0xDB);
  MUST(cuStreamDestroy(stream));
}

// Each in a context of its own, which an illegal address ends.
static void check_reach(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_KERNELS;
  USE_POOLS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const void *, size_t);
  enum { NO_ACCESS = 0, READS = 1, READ_WRITE = 3, OF_GRAPH = 4, CASES };
  const PoolProperties properties = {.type = 1, .location_type = 1};
  struct {
    int type, id, flags;
  } access = {1, 1, 0};
  CUmemoryPool pool;
  CUdeviceptr pooled, scratch;
  CUstream stream;
  CUgraph graph = NULL;
  uint64_t size = SIZE;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemAllocAsync(&scratch, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  for (int how = 0; how < CASES; ++how) {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    access.flags = how < OF_GRAPH ? how : NO_ACCESS;
    MUST(cuMemPoolSetAccess(pool, &access, 1));
    MUST(cuCtxCreate(&context, 0, 1));
    MUST(cuModuleLoadData(&module, image));
    MUST(cuModuleGetFunction(&function, module, "fill"));
    void *arguments[] = {how == OF_GRAPH ? &scratch : &pooled, &size};
    MUST(LAUNCH(function, arguments));
    MUST_BE(cuStreamSynchronize(LEGACY), how == READ_WRITE ? SUCCESS : ILLEGAL_ADDRESS);
    MUST(cuCtxDestroy(context));
  }
  MUST(cuMemFreeAsync(pooled, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamDestroy(stream));
}

static void check_modules(CUmodule module) {
  USE_KERNELS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuFuncGetModule, 11000, CUmodule *, CUfunction);
  USE(cuFuncGetParamInfo, 12040, CUfunction, size_t, size_t *, size_t *);
  USE(cuModuleUnload, 2000, CUmodule);
  USE(cuLibraryLoadData, 12000, CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
      unsigned);
  USE(cuLibraryGetKernel, 12000, CUkernel *, CUlibrary, const char *);
  USE(cuLibraryGetModule, 12000, CUmodule *, CUlibrary);
  USE(cuKernelGetFunction, 12000, CUfunction *, CUkernel);
  USE(cuLibraryUnload, 12000, CUlibrary);
  CUlibrary library;
  CUkernel kernel;
  CUmodule of_library, again, none;
  CUfunction function, of_kernel;
  CUcontext other, popped;
  uint64_t address = 0, size = 0;
  size_t offset = 7;
  void *arguments[] = {&address, &size};
  MUST(cuModuleGetFunction(&function, module, "fill"));
  MUST(cuFuncGetParamInfo(function, 1, &offset, NULL));
  MUST_BE(offset, 8);
  MUST_BE(cuKernelGetFunction(&of_kernel, function), INVALID_HANDLE);

  // A library has one module in each context. It is unloaded with the library, or with the context.
  MUST(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
  MUST(cuLibraryGetKernel(&kernel, library, "fill"));
  MUST_BE(cuFuncGetModule(&none, kernel), INVALID_HANDLE);
  MUST(cuLibraryGetModule(&of_library, library));
  MUST(cuLibraryGetModule(&again, library));
  MUST_BE(again == of_library, 1);
  MUST_BE(cuModuleUnload(of_library), NOT_PERMITTED);
  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuLibraryGetModule(&again, library));
  MUST_BE(again != of_library, 1);
  MUST_BE(LAUNCH(function, arguments), INVALID_HANDLE);  // of a module of the first context
  MUST(cuCtxPopCurrent(&popped));
  MUST(cuCtxDestroy(other));
  MUST_BE(cuModuleGetFunction(&of_kernel, again, "fill"), INVALID_HANDLE);
  MUST(cuModuleGetFunction(&of_kernel, of_library, "fill"));
  MUST(cuLibraryUnload(library));
  MUST_BE(cuModuleGetFunction(&of_kernel, of_library, "fill"), INVALID_HANDLE);
}

// Of a kernel that is a function of the test's nobody knows what it needs.
static void check_needs(CUmodule module) {
  USE_KERNELS;
  USE(cuFuncGetAttribute, 2020, int *, int, CUfunction);
  USE(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, int *, CUfunction, int, size_t);
  USE(cuModuleGetGlobal, 3020, CUdeviceptr *, size_t *, CUmodule, const char *);
  enum { MAX_THREADS, SHARED, CONST, LOCAL, REGISTERS, PTX, BINARY, COUNT };
  static const int expected[COUNT] = {1024, 0, 0, 0, 0, 90, 90};
  CUfunction function;
  CUdeviceptr address;
  size_t size;
  int value = 7;
  MUST(cuModuleGetFunction(&function, module, "fill"));
  for (int i = 0; i < COUNT; ++i) {
    MUST(cuFuncGetAttribute(&value, i, function));
    MUST_BE(value, expected[i]);
  }
  MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 1024, 0));
  MUST_BE(value, 2);
  MUST_BE(cuModuleGetGlobal(&address, &size, module, "x"), NOT_FOUND);  // it has no variables
  MUST_BE(cuModuleGetGlobal(&address, &size, module, NULL), INVALID_VALUE);
}

static void check_attributes(CUmodule module) {
  USE_KERNELS;
  USE(cuLaunchKernelEx, 11060, const Config *, CUfunction, void **, void **);
  USE(cuStreamSynchronize, 2000, CUstream);
  FIND_SIM(simcuda_unsupported);
  CUfunction function;
  uint64_t address = 1, size = 0;
  void *arguments[] = {&address, &size};
  enum { PRIORITY = 8, PROGRAMMATIC = 6 };
  Attribute attributes[] = {{.id = PRIORITY}, {.id = PROGRAMMATIC}};
  Config config = {{1, 1, 1}, {1, 1, 1}, 0, LEGACY, NULL, 0};
  MUST(cuModuleGetFunction(&function, module, "fill"));
  MUST(cuLaunchKernelEx(&config, function, arguments, NULL));
  config.count = 1;
  MUST_BE(cuLaunchKernelEx(&config, function, arguments, NULL), INVALID_VALUE);
  config.attributes = attributes;
  MUST(cuLaunchKernelEx(&config, function, arguments, NULL));
  // Attributes that would change the order are not supported.
  const uint64_t before = simcuda_unsupported();
  config.count = 2;
  MUST_BE(cuLaunchKernelEx(&config, function, arguments, NULL), NOT_SUPPORTED);
  MUST_BE(simcuda_unsupported(), before + 1);
  MUST(cuStreamSynchronize(LEGACY));
}

static void check_nodes(CUmodule module, CUcontext context) {
  USE_MEMORY;
  USE_STREAMS;
  USE_KERNELS;
  USE_GRAPHS;
  CUresult (*add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const KernelNode *);
  *(void **)&add = find("cuGraphAddKernelNode", 12000);
  USE(cuLibraryLoadData, 12000, CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
      unsigned);
  USE(cuLibraryGetKernel, 12000, CUkernel *, CUlibrary, const char *);
  USE(cuLibraryUnload, 12000, CUlibrary);
  unsigned char bytes[SIZE];
  CUlibrary library;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  CUdeviceptr data;
  uint64_t size = SIZE;
  void *arguments[] = {&data, &size};
  KernelNode with = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = arguments};
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
  MUST(cuGraphCreate(&graph, 0));
  MUST_BE(add(&node, graph, NULL, 0, &with), INVALID_HANDLE);  // neither function nor kernel
  MUST(cuModuleGetFunction(&with.function, module, "many"));
  MUST(add(&node, graph, NULL, 0, &with));
  with.function = NULL;
  with.context = context;
  MUST(cuLibraryGetKernel(&with.kernel, library, "fill"));
  MUST(add(&node, graph, &node, 1, &with));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST_BE(bytes[0], 5);
  MUST_BE(bytes[SIZE - 1], 5);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuLibraryUnload(library));
  MUST(cuMemFree(data));
}

int main(void) {
  const CUcontext context = start();
  USE_KERNELS;
  CUmodule module;
  register_kernels();
  MUST(cuModuleLoadData(&module, image));
  check_launches(module);
  check_freed(module);
  check_modules(module);
  check_needs(module);
  check_attributes(module);
  check_nodes(module, context);
  check_reach();
  return 0;
}
