// SPDX-License-Identifier: BSD-3-Clause
// What the programs of docs/reference/order.rst share: streams, arrays, and work for a GPU. The
// driver's calls are found in libcuda.so.1, so that no CUDA is needed to compile them; a fill and a
// copy stand for kernels. On simcuda done() prints what was recorded and waited for.
#ifndef WORK_H
#define WORK_H

#include <cai.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t stream;  // 1, 2 or a CUstream, as in cai.h
typedef uint64_t memory;  // a device address
typedef void *handle;

enum { BYTES = 64 };

// Ends the program where a call fails.
#define MUST(call) must_be((call), 0, #call, __FILE__, __LINE__)
#define MUST_BE(call, expected) must_be((call), (expected), #call, __FILE__, __LINE__)

static inline void must_be(int got, int expected, const char *call, const char *file, int line) {
  if (got == expected) return;
  fprintf(stderr, "%s:%d: %s is %d, not %d\n", file, line, call, got, expected);
  exit(EXIT_FAILURE);
}

static inline void *library(void) {
  static void *opened;
  if (!opened) opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (opened) return opened;
  fprintf(stderr, "%s\n", dlerror());
  exit(EXIT_FAILURE);
}

// Calls a function of the driver: its name, its parameters, its arguments.
#define CU(name, parameters, ...)                                 \
  do {                                                            \
    int(*function) parameters = NULL;                             \
    *(void **)&function = dlsym(library(), #name);                \
    must_be(function != NULL, 1, #name, __FILE__, __LINE__);      \
    must_be(function(__VA_ARGS__), 0, #name, __FILE__, __LINE__); \
  } while (0)

static inline handle handle_of(uint64_t value) {
  return (handle)(uintptr_t)value;
}

// The primary context of the first device becomes current: in main(), and in each other thread.
static inline void start(void) {
  handle context = NULL;
  CU(cuInit, (unsigned), 0);
  CU(cuDevicePrimaryCtxRetain, (handle *, int), &context, 0);
  CU(cuCtxSetCurrent, (handle), context);
}

// A non-blocking one, as libraries have them.
static inline stream new_stream(void) {
  handle made = NULL;
  CU(cuStreamCreate, (handle *, unsigned), &made, 1);
  return (uintptr_t)made;
}

static inline memory new_memory(void) {
  memory made = 0;
  CU(cuMemAlloc_v2, (memory *, size_t), &made, BYTES);
  return made;
}

// ---- Work, which is queued, and done some time later --------------------------------------------

static inline void fill_bytes(memory to, size_t bytes, int value, stream on) {
  CU(cuMemsetD8Async, (memory, unsigned char, size_t, handle), to, (unsigned char)value, bytes,
     handle_of(on));
}

static inline void fill(memory to, int value, stream on) {
  fill_bytes(to, BYTES, value, on);
}

static inline void copy(memory to, memory from, stream on) {
  CU(cuMemcpyDtoDAsync_v2, (memory, memory, size_t, handle), to, from, BYTES, handle_of(on));
}

// ---- Arrays, as a producer makes them -----------------------------------------------------------

typedef struct block {
  memory data;
  stream freed_on;  // 0: at once
} block;

static inline void free_block(void *context) {
  const block *const it = context;
  if (it->freed_on) {
    CU(cuMemFreeAsync, (memory, handle), it->data, handle_of(it->freed_on));
  } else {
    CU(cuMemFree_v2, (memory), it->data);
  }
  free(context);
}

static inline void free_pinned(void *context) {
  CU(cuMemFreeHost, (void *), context);
}

static inline const cai_array *own(memory data, stream of, int32_t device_type,
                                   void (*release)(void *), void *context) {
  static const int64_t shape[] = {BYTES}, strides[] = {1};
  cai_array borrowed = {0}, *made = NULL;
  borrowed.abi_major = CAI_ABI_MAJOR;
  borrowed.abi_minor = CAI_ABI_MINOR;
  borrowed.data = data;
  borrowed.device_type = device_type;
  borrowed.device_id = device_type == CAI_DEVICE_CUDA ? 0 : -1;
  borrowed.dtype.kind = 'u';
  borrowed.dtype.byteorder = '|';
  borrowed.dtype.itemsize = 1;
  borrowed.ndim = 1;
  borrowed.shape = shape;
  borrowed.strides = strides;
  borrowed.stream = of;
  borrowed.stream_kind = of ? CAI_STREAM_STREAM : CAI_STREAM_NONE;
  borrowed.version = 3;
  MUST(cai_array_own(&borrowed, release, context, &made, NULL));
  return made;
}

static inline const cai_array *own_block(memory data, stream of) {
  block *const it = malloc(sizeof *it);
  if (!it) exit(EXIT_FAILURE);
  it->data = data;
  it->freed_on = of;
  return own(data, of, CAI_DEVICE_CUDA, free_block, it);
}

// Comes with the stream, in whose order its memory is allocated and freed.
static inline const cai_array *new_array(stream of) {
  memory data = 0;
  CU(cuMemAllocAsync, (memory *, size_t, handle), &data, BYTES, handle_of(of));
  return own_block(data, of);
}

// Comes with None: nothing is pending. Its memory is freed as soon as libcai lets it go.
static inline const cai_array *new_array_of_none(void) {
  return own_block(new_memory(), 0);
}

// Of memory that the CPU reads, too.
static inline const cai_array *new_pinned_array(stream of) {
  void *data = NULL;
  CU(cuMemHostAlloc, (void **, size_t, unsigned), &data, BYTES, 0);
  return own((uintptr_t)data, of, CAI_DEVICE_CUDA_HOST, free_pinned, data);
}

// ---- What has become of it ----------------------------------------------------------------------

// The CPU reads memory that it can reach.
static inline int read_by_cpu(memory from) {
  int32_t (*access)(const void *, uint64_t, int32_t) = NULL;
  *(void **)&access = dlsym(library(), "simcuda_host_access");
  if (access) MUST(access(handle_of(from), BYTES, 0));  // simcuda cannot see it otherwise
  return *(const volatile unsigned char *)handle_of(from);
}

// Waits for all that is queued, which only a test may.
static inline void settle(void) {
  CU(cuCtxSynchronize, (void), );
}

static inline int value_of(memory from) {
  unsigned char value = 0;
  settle();
  CU(cuMemcpyDtoH_v2, (void *, memory, size_t), &value, from, 1);
  return value;
}

// How often libcai has called the driver: the programs themselves record and wait for nothing.
static inline void print_counts(void) {
  uint64_t (*calls)(const char *) = NULL;
  *(void **)&calls = dlsym(library(), "simcuda_calls");
  if (!calls) return;
  const uint64_t host = calls("cuEventSynchronize") + calls("cuStreamSynchronize");
  printf("Event records: %d. Stream waits: %d. Waits of the host: %d.\n",
         (int)calls("cuEventRecord"), (int)calls("cuStreamWaitEvent"), (int)host);
}

// Once all arrays have been released: ends that were deferred until uses were complete are done.
static inline void done(void) {
  int64_t left = -1;
  print_counts();
  MUST(cai_drain(1, &left, NULL));
  MUST_BE((int)left, 0);
}

#endif
