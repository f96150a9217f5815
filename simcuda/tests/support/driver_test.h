// SPDX-License-Identifier: BSD-3-Clause
// For programs that each prove one rule of the driver: they open libcuda.so.1 as any client would,
// ask for explicit old versions of the functions they use, and exit 0 if the rule holds, 77 if this
// machine lacks what the rule is about. Where no source states the rule, the program says with
// FOUND what the driver does; check_rules.py says how each begins, results.py makes a table of all.
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "must.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUstream, *CUevent, *CUmemoryPool, *CUgraph;
typedef void *CUgraphExec, *CUgraphNode, *CUuserObject;
typedef void *CUmodule, *CUfunction, *CUlibrary, *CUkernel, *CUgreenCtx;

typedef struct {  // CUmemPoolProps
  int type, handles, location_type, location_id;
  void *security;
  size_t most;
  unsigned char reserved[56];
} PoolProperties;

#define LEGACY ((CUstream)1)
#define PER_THREAD ((CUstream)2)
#define NON_BLOCKING 1u

enum {  // CUresult
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  DEINITIALIZED = 4,
  STUB_LIBRARY = 34,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  ILLEGAL_STATE = 401,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  OUT_OF_RESOURCES = 701,
  PEER_ALREADY_ENABLED = 704,
  PEER_NOT_ENABLED = 705,
  CONTEXT_IS_DESTROYED = 709,
  ALREADY_REGISTERED = 712,
  NOT_REGISTERED = 713,
  LAUNCH_FAILED = 719,
  NOT_PERMITTED = 800,
  NOT_SUPPORTED = 801,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901,
  CAPTURE_MERGE = 902,
  CAPTURE_UNMATCHED = 903,
  CAPTURE_UNJOINED = 904,
  CAPTURE_ISOLATION = 905,
  CAPTURE_IMPLICIT = 906,
  CAPTURED_EVENT = 907,
  CAPTURE_WRONG_THREAD = 908
};

static void *library;
static CUresult (*get_proc_address)(const char *, void **, int, uint64_t, int *);

static inline void open_driver(void) {
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  *(void **)&get_proc_address = dlsym(library, "cuGetProcAddress_v2");
}

static inline int on_simcuda(void) {
  return dlsym(library, "simcuda_calls") != NULL;
}

// Legacy flavour: stream 0 never silently means the per-thread stream.
static inline void *find(const char *name, int version) {
  void *function = NULL;
  if (get_proc_address(name, &function, version, 1, NULL) != SUCCESS || !function) {
    printf("skipped: this driver has no %s of version %d\n", name, version);
    exit(on_simcuda() ? 1 : 77);  // simcuda has all that the rules need
  }
  return function;
}

// Declares `name` with the signature of that version and finds it.
#define USE(name, version, ...)  \
  CUresult (*name)(__VA_ARGS__); \
  *(void **)&name = find(#name, version)

// What no source says: prints what this driver does. Only simcuda must do what it assumes.
static inline void found(const char *what, const char *answer, const char *assumed) {
  printf("found: %s: %s (assumed: %s)\n", what, answer, assumed);
  fflush(stdout);  // the next question may be the last
  if (on_simcuda() && strcmp(answer, assumed) != 0) exit(1);
}

static inline const char *status_name(CUresult status) {
  const char *name = "no status";
  CUresult (*error_name)(CUresult, const char **);
  *(void **)&error_name = dlsym(library, "cuGetErrorName");
  (void)error_name(status, &name);
  return name;
}

#define FOUND_STATUS(what, call, assumed) found(what, status_name(call), status_name(assumed))
#define FOUND(what, yes, assumed) found(what, (yes) ? "yes" : "no", (assumed) ? "yes" : "no")

// A host function that holds its stream up until the gate opens, or for a while if it never does.
static int gate_is_open;

static inline void open_gate(void) {
  __atomic_store_n(&gate_is_open, 1, __ATOMIC_SEQ_CST);
}

static inline void wait_at_gate(void *milliseconds) {
  for (uintptr_t i = 0; i < (uintptr_t)milliseconds; ++i) {
    if (__atomic_load_n(&gate_is_open, __ATOMIC_SEQ_CST)) return;
    usleep(1000);
  }
}

#define USE_GATE USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *)
#define HOLD_UP_FOR(stream, milliseconds) \
  MUST(cuLaunchHostFunc(stream, wait_at_gate, (void *)(uintptr_t)(milliseconds)))
// Long enough for any call that does not wait; who waits after all waits ten seconds.
#define HOLD_UP(stream) HOLD_UP_FOR(stream, 10000)
// For a call that is expected to wait.
#define HOLD_UP_FOR_A_WHILE(stream) HOLD_UP_FOR(stream, 1000)

// Starts the driver with the primary context of device 0 current.
static inline CUcontext start(void) {
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUcontext context = NULL;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  return context;
}

static inline void in_another_thread(void *(*work)(void *), void *argument) {
  pthread_t thread;
  MUST_BE(pthread_create(&thread, NULL, work, argument), 0);
  MUST_BE(pthread_join(thread, NULL), 0);
}

static inline int is_since(int version) {
  USE(cuDriverGetVersion, 2020, int *);
  int mine = 0;
  MUST(cuDriverGetVersion(&mine));
  return mine >= version;
}

static inline void need_two_devices(void) {
  USE(cuDeviceGetCount, 2000, int *);
  int count = 0;
  MUST(cuDeviceGetCount(&count));
  if (count >= 2) return;
  printf("skipped: one device only\n");
  exit(77);
}

// Functions that most rules need.
#define USE_MEMORY                                                           \
  USE(cuMemAlloc, 3020, CUdeviceptr *, size_t);                              \
  USE(cuMemFree, 3020, CUdeviceptr);                                         \
  USE(cuMemcpyHtoD, 3020, CUdeviceptr, const void *, size_t);                \
  USE(cuMemcpyDtoH, 3020, void *, CUdeviceptr, size_t);                      \
  USE(cuMemcpyDtoDAsync, 3020, CUdeviceptr, CUdeviceptr, size_t, CUstream);  \
  USE(cuMemsetD8Async, 3020, CUdeviceptr, unsigned char, size_t, CUstream);  \
  (void)cuMemAlloc, (void)cuMemFree, (void)cuMemcpyHtoD, (void)cuMemcpyDtoH, \
      (void)cuMemcpyDtoDAsync, (void)cuMemsetD8Async
#define USE_STREAMS                                \
  USE(cuStreamCreate, 2000, CUstream *, unsigned); \
  USE(cuStreamDestroy, 4000, CUstream);            \
  USE(cuStreamSynchronize, 2000, CUstream);        \
  USE(cuStreamQuery, 2000, CUstream);              \
  (void)cuStreamCreate, (void)cuStreamDestroy, (void)cuStreamSynchronize, (void)cuStreamQuery
#define USE_EVENTS                                                                    \
  USE(cuEventCreate, 2000, CUevent *, unsigned);                                      \
  USE(cuEventDestroy, 4000, CUevent);                                                 \
  USE(cuEventRecord, 2000, CUevent, CUstream);                                        \
  USE(cuEventQuery, 2000, CUevent);                                                   \
  USE(cuEventSynchronize, 2000, CUevent);                                             \
  USE(cuStreamWaitEvent, 3020, CUstream, CUevent, unsigned);                          \
  (void)cuEventCreate, (void)cuEventDestroy, (void)cuEventRecord, (void)cuEventQuery, \
      (void)cuEventSynchronize, (void)cuStreamWaitEvent

#define USE_POOLS                                                                        \
  enum { THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8 };      \
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const PoolProperties *);                   \
  USE(cuMemPoolDestroy, 11020, CUmemoryPool);                                            \
  USE(cuMemPoolSetAttribute, 11020, CUmemoryPool, int, void *);                          \
  USE(cuMemPoolGetAttribute, 11020, CUmemoryPool, int, void *);                          \
  USE(cuMemPoolTrimTo, 11020, CUmemoryPool, size_t);                                     \
  USE(cuMemAllocFromPoolAsync, 11020, CUdeviceptr *, size_t, CUmemoryPool, CUstream);    \
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);                          \
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);                                     \
  (void)cuMemPoolCreate, (void)cuMemPoolDestroy, (void)cuMemPoolSetAttribute,            \
      (void)cuMemPoolGetAttribute, (void)cuMemPoolTrimTo, (void)cuMemAllocFromPoolAsync, \
      (void)cuMemAllocAsync, (void)cuMemFreeAsync

#define USE_KERNELS                                                                       \
  USE(cuModuleLoadData, 2000, CUmodule *, const void *);                                  \
  USE(cuModuleGetFunction, 2000, CUfunction *, CUmodule, const char *);                   \
  USE(cuLaunchKernel, 4000, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, \
      unsigned, unsigned, CUstream, void **, void **);                                    \
  (void)cuModuleLoadData, (void)cuModuleGetFunction, (void)cuLaunchKernel
#define USE_CAPTURE                                                                          \
  enum { NONE = 0, ACTIVE = 1, INVALIDATED = 2, GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 }; \
  USE_STREAMS;                                                                               \
  USE_EVENTS;                                                                                \
  USE(cuStreamBeginCapture, 10010, CUstream, int);                                           \
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);                                       \
  USE(cuStreamIsCapturing, 10000, CUstream, int *);                                          \
  (void)cuStreamBeginCapture, (void)cuStreamEndCapture, (void)cuStreamIsCapturing
#define USE_GRAPHS                                                              \
  USE(cuGraphCreate, 10000, CUgraph *, unsigned);                               \
  USE(cuGraphDestroy, 10000, CUgraph);                                          \
  USE(cuGraphInstantiateWithFlags, 11040, CUgraphExec *, CUgraph, uint64_t);    \
  USE(cuGraphLaunch, 10000, CUgraphExec, CUstream);                             \
  USE(cuGraphExecDestroy, 10000, CUgraphExec);                                  \
  USE(cuGraphGetNodes, 10000, CUgraph, CUgraphNode *, size_t *);                \
  (void)cuGraphCreate, (void)cuGraphDestroy, (void)cuGraphInstantiateWithFlags, \
      (void)cuGraphLaunch, (void)cuGraphExecDestroy, (void)cuGraphGetNodes

// A function of the simulator's own, for sim_*.c only: a pointer with the name that simcuda.h has.
#pragma GCC diagnostic ignored "-Wshadow"
#define FIND_SIM(name)    \
  __typeof__(name) *name; \
  *(void **)&name = dlsym(library, #name)
#define USE_SIM(result, name, ...) \
  result (*name)(__VA_ARGS__);     \
  *(void **)&name = dlsym(library, #name)
