// SPDX-License-Identifier: BSD-3-Clause
// However many bytes, uses and host functions there are, what is still under way is compared on,
// and what the host has waited for is not.
#include "race_test.h"

enum { BYTES = 4096, PIECES = 1100, FUNCTIONS = 20 };

static CUdeviceptr data;
static CUstream a, b, c;

static uint32_t twice(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  for (uint32_t i = 0; i < 2 && i < capacity; ++i)
    out[i] = (simcuda_range){*(const uint64_t *)launch->arguments[0] + 32 * i, 64, 1, 0, 0};
  return 2;
}

static void wait_for(CUstream stream, CUstream other) {
  USE_EVENTS;
  CUevent event;
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, other));
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuEventDestroy(event));
}

// Every second byte of what follows the first 128: each is remembered for itself.
static void use_pieces(void) {
  USE_MEMORY;
  for (int i = 0; i < PIECES; ++i) MUST(cuMemsetD8Async(data + 128 + 2 * (CUdeviceptr)i, 1, 1, b));
}

static void check_pieces(void) {
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr copy;
  MUST(cuMemAlloc(&copy, 64));
  // A write that was waited for, under a read that was not, which a later write races with.
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, a)); wait_for(b, a);
        MUST(cuMemcpyDtoDAsync(copy, data, 64, b)); MUST(cuStreamSynchronize(a)); use_pieces();
        MUST(cuMemsetD8Async(data, 2, 64, c)););
  // The other way round: the read races with the write at once, and then it is over.
  RACES(2, MUST(cuMemcpyDtoDAsync(copy, data, 64, a)); MUST(cuMemsetD8Async(data, 1, 64, b));
        MUST(cuStreamSynchronize(a)); use_pieces(); MUST(cuMemsetD8Async(data, 2, 64, c)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, a)); MUST(cuStreamSynchronize(a)); use_pieces();
        MUST(cuMemsetD8Async(data, 2, 64, c)););
  // Nothing is unfinished if everything has been waited for.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, a)); use_pieces(); MUST(cuStreamSynchronize(a));
        MUST(cuStreamSynchronize(b)); use_pieces(); MUST(cuMemsetD8Async(data, 2, 64, c)););
  MUST(cuMemFree(copy));
}

// Of destroyed streams never waited for, MOST are remembered; older ones count as waited for.
static void check_destroyed(void) {
  USE_MEMORY;
  USE_STREAMS;
  enum { MOST = 1024, ALL = MOST + 8 };
#define USE_PASSING_STREAMS                                      \
  for (int i = 0; i < ALL; ++i) {                                \
    CUstream passing;                                            \
    MUST(cuStreamCreate(&passing, 0));                           \
    MUST(cuMemsetD8Async(data + (CUdeviceptr)i, 1, 1, passing)); \
    MUST(cuStreamDestroy(passing));                              \
  }
  RACES(0, USE_PASSING_STREAMS; MUST(cuMemsetD8Async(data, 2, 1, c)););
  RACES(1, USE_PASSING_STREAMS; MUST(cuMemsetD8Async(data + ALL - 1, 2, 1, c)););
}

// The legacy stream comes after each of many streams and before what they do next; some are gone by
// then, some have been waited for.
static void check_legacy(void) {
  USE_MEMORY;
  USE_STREAMS;
  enum { ALL = 300 };
  CUstream all[ALL];
  for (int i = 0; i < ALL; ++i) MUST(cuStreamCreate(&all[i], 0));
#define USE_ALL                                                 \
  for (int i = 0; i < ALL; ++i) {                               \
    MUST(cuMemsetD8Async(data + (CUdeviceptr)i, 1, 1, all[i])); \
    if (i % 7 == 0) MUST(cuStreamSynchronize(all[i]));          \
  }
  RACES(0, USE_ALL; MUST(cuMemsetD8Async(data, 2, ALL, LEGACY)); USE_ALL;
        MUST(cuMemsetD8Async(data, 3, ALL, LEGACY)););
  RACES(1, USE_ALL; MUST(cuMemsetD8Async(data, 2, ALL, LEGACY));
        MUST(cuMemsetD8Async(data, 3, ALL, c)););
  RACES(1, USE_ALL; MUST(cuMemsetD8Async(data + 1, 2, 1, all[ALL - 1])););
  for (int i = 0; i < ALL; i += 2) {
    MUST(cuMemsetD8Async(data + (CUdeviceptr)i, 1, 1, all[i]));
    MUST(cuStreamDestroy(all[i]));
  }
  MUST(cuMemsetD8Async(data, 2, ALL, LEGACY));
  MUST_BE(sim.races(), 0);
  for (int i = 1; i < ALL; i += 2) MUST(cuStreamDestroy(all[i]));
}

// Branches of a graph, launched again and again: its end comes after all of them, and so does what
// follows it; nothing else does.
static void check_branches(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_GRAPHS;
  USE(cuGraphAddMemsetNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const void *, CUcontext);
  enum { ALL = 300 };
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  MUST(cuGraphCreate(&graph, 0));
  for (int i = 0; i < ALL; ++i) {
    const struct {
      CUdeviceptr to;
      size_t pitch;
      unsigned value, element;
      size_t width, height;
    } fill = {data + (CUdeviceptr)i, 0, 5, 1, 1, 1};
    MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, NULL));
  }
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  RACES(
      0, for (int i = 0; i < 3; ++i) {
        MUST(cuGraphLaunch(exec, a));
        MUST(cuMemsetD8Async(data, 2, ALL, a));
        wait_for(b, a);
        MUST(cuMemsetD8Async(data, 2, ALL, b));
        wait_for(a, b);
      });
  RACES(1, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuGraphLaunch(exec, a));
        MUST(cuMemsetD8Async(data + ALL - 1, 2, 1, b)););
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

static void nothing(void *unused) { (void)unused; }

static void check_host_functions(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
#define PUT_OFF \
  for (int i = 0; i < FUNCTIONS; ++i) MUST(cuLaunchHostFunc(c, nothing, NULL))
  RACES(0, PUT_OFF; MUST(cuMemsetD8Async(data, 1, 64, a)); MUST(cuStreamSynchronize(a));
        MUST(cuMemcpyDtoDAsync(data + 64, data, 64, b)););
  RACES(1, PUT_OFF; MUST(cuMemsetD8Async(data, 1, 64, a)); MUST(cuMemsetD8Async(data, 2, 64, b)););
}

// A kernel that names the same bytes twice does not race with itself.
static void check_kernel(void) {
  USE_KERNELS;
  FIND_SIM(simcuda_kernel);
  const uint32_t sizes[] = {8};
  CUmodule module;
  CUfunction function;
  void *arguments[] = {&data};
  MUST(simcuda_kernel("twice", sizes, 1, twice, NULL));
  MUST(cuModuleLoadData(&module, "simcuda module\ntwice\n"));
  MUST(cuModuleGetFunction(&function, module, "twice"));
  RACES(0, MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, a, arguments, NULL)););
  RACES(1, MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, a, arguments, NULL));
        MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, b, arguments, NULL)););
}

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  MUST(cuMemAlloc(&data, BYTES));
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(cuStreamCreate(&c, NON_BLOCKING));
  check_pieces();
  check_destroyed();
  check_legacy();
  check_branches();
  check_host_functions();
  check_kernel();
  return 0;
}
