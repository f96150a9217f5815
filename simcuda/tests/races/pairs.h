/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of programs that differ in one thing: with it the work is ordered, without it there is a
 * race. A pair is a function with `ordered`, false or true, in scope:
 *
 *     PAIR(event, FILL, TAKE) {
 *       fill(data, one);
 *       if (ordered) after(two, one);
 *       take(data, two);
 *     }
 *
 * Each half runs in a process of its own. Without the order, simcuda must
 * report a race of these two calls, and none of any others; with it, no race at all.
 *
 *   pairs_streams.c  streams (legacy, per-thread, blocking, non-blocking, of priorities), events,
 *                    queries, the host's waits, threads, host functions, devices and contexts
 *   pairs_memory.c   copies (pageable, page-locked, in 2-D, between peers), memset, managed memory,
 *                    ranges, memory pools, frees
 *   pairs_graphs.c   captured edges, nodes, launches */
#pragma once

#include <stdbool.h>

#include "driver_test.h"
#include "simcuda.h"

typedef struct Pair {
  const char *name, *first, *second;
  void (*run)(bool ordered);
  struct Pair *next;
} Pair;

void add_pair(Pair *pair);

#define PAIR(name, first, second)                                 \
  static void pair_##name(bool ordered);                          \
  __attribute__((constructor)) static void add_##name(void) {     \
    static Pair pair = {#name, first, second, pair_##name, NULL}; \
    add_pair(&pair);                                              \
  }                                                               \
  static void pair_##name(bool ordered)

/* The calls of fill(), take() and launch(), and of look() and change(), as reports name them. */
#define FILL "cuMemsetD8Async"
#define TAKE "cuMemcpyDtoDAsync"
#define LAUNCH "cuGraphLaunch"
#define HOST "the host's access"

struct copy_2d {
  size_t from_x, from_y;
  int from_type;
  const void *from_host;
  CUdeviceptr from;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  int to_type;
  void *to_host;
  CUdeviceptr to;
  void *to_array;
  size_t to_pitch, width, height;
};

struct memset_node {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, element_size;
  size_t width, height;
};

#define FUNCTIONS(F)                                                                             \
  F(cuInit, 2000, unsigned)                                                                      \
  F(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice)                                       \
  F(cuCtxSetCurrent, 4000, CUcontext)                                                            \
  F(cuCtxSynchronize, 2000, void)                                                                \
  F(cuStreamCreate, 2000, CUstream *, unsigned)                                                  \
  F(cuStreamCreateWithPriority, 5050, CUstream *, unsigned, int)                                 \
  F(cuStreamDestroy, 4000, CUstream)                                                             \
  F(cuStreamSynchronize, 2000, CUstream)                                                         \
  F(cuStreamQuery, 2000, CUstream)                                                               \
  F(cuStreamWaitEvent, 3020, CUstream, CUevent, unsigned)                                        \
  F(cuStreamBeginCapture, 10010, CUstream, int)                                                  \
  F(cuStreamEndCapture, 10000, CUstream, CUgraph *)                                              \
  F(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned) \
  F(cuEventCreate, 2000, CUevent *, unsigned)                                                    \
  F(cuEventDestroy, 4000, CUevent)                                                               \
  F(cuEventRecord, 2000, CUevent, CUstream)                                                      \
  F(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned)                                  \
  F(cuEventQuery, 2000, CUevent)                                                                 \
  F(cuEventSynchronize, 2000, CUevent)                                                           \
  F(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *)                                 \
  F(cuMemAlloc, 3020, CUdeviceptr *, size_t)                                                     \
  F(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned)                                    \
  F(cuMemHostAlloc, 2020, void **, size_t, unsigned)                                             \
  F(cuMemHostRegister, 6050, void *, size_t, unsigned)                                           \
  F(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned)                            \
  F(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream)                                     \
  F(cuMemFreeAsync, 11020, CUdeviceptr, CUstream)                                                \
  F(cuMemFree, 3020, CUdeviceptr)                                                                \
  F(cuMemcpyHtoD, 3020, CUdeviceptr, const void *, size_t)                                       \
  F(cuMemcpyDtoH, 3020, void *, CUdeviceptr, size_t)                                             \
  F(cuMemcpyDtoD, 3020, CUdeviceptr, CUdeviceptr, size_t)                                        \
  F(cuMemcpyAsync, 4000, CUdeviceptr, CUdeviceptr, size_t, CUstream)                             \
  F(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream)                        \
  F(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream)                              \
  F(cuMemcpyDtoDAsync, 3020, CUdeviceptr, CUdeviceptr, size_t, CUstream)                         \
  F(cuMemcpyPeer, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t)                  \
  F(cuMemcpyPeerAsync, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)   \
  F(cuMemcpy2DAsync, 3020, const struct copy_2d *, CUstream)                                     \
  F(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t)                                        \
  F(cuMemsetD8Async, 3020, CUdeviceptr, unsigned char, size_t, CUstream)                         \
  F(cuMemsetD2D8Async, 3020, CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream)       \
  F(cuGraphCreate, 10000, CUgraph *, unsigned)                                                   \
  F(cuGraphAddMemsetNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,            \
    const struct memset_node *, CUcontext)                                                       \
  F(cuGraphInstantiateWithFlags, 11040, CUgraphExec *, CUgraph, uint64_t)                        \
  F(cuGraphLaunch, 10000, CUgraphExec, CUstream)

#define DECLARE(name, version, ...) extern CUresult (*name)(__VA_ARGS__);
FUNCTIONS(DECLARE)
#undef DECLARE

enum { BYTES = 64, BLOCKING = 0 };

/* What a pair has to begin with: the primary contexts of devices 0 and 1, the first being current;
 * non-blocking streams of each; memory of the first device, of pageable and page-locked host
 * memory, and managed. */
extern CUcontext here, there;
extern CUstream one, two, three, far;
extern CUdeviceptr data, managed;
extern unsigned char pageable[BYTES], *locked;

/* Memory that nobody else uses; and in a context. */
CUdeviceptr fresh(void);
CUdeviceptr fresh_in(CUcontext context);
CUstream stream(unsigned flags);
CUevent event(void);
/* An event that is recorded there now. */
CUevent mark(CUstream on);

void fill(CUdeviceptr memory, CUstream on);
/* Copies memory to a place of its own. */
void take(CUdeviceptr memory, CUstream on);
void record(CUevent event, CUstream on);
void await(CUstream waits, CUevent event);
/* What comes on the first stream comes after what there is on the other. */
void after(CUstream later, CUstream earlier);
void finish(CUstream with);

/* The host uses memory. */
void look(const void *memory);
void change(void *memory);
static inline void *host(CUdeviceptr memory) {
  return (void *)(uintptr_t)memory;
}

void capture(CUstream origin);
CUgraphExec captured(CUstream origin);
void launch(CUgraphExec exec, CUstream on);
