// SPDX-License-Identifier: BSD-3-Clause
// A kernel that waits blocks nothing else: other kernels, copies, host functions and calls go on
// beside it. The memory that it uses stays where it is while it runs.
#include <sys/mman.h>

#include "race_ptx.h"

enum { SIZE = 4096, SEVERAL = 6 };

static CUmodule module;
static CUfunction wait_for, fill;
static CUstream waits, other;
static unsigned *flag;  // in host memory
static CUdeviceptr flag_on_device, x;
static unsigned one = 1;

static void set_flag(unsigned value) { __atomic_store_n(flag, value, __ATOMIC_SEQ_CST); }

static void must_wait(CUstream stream) {
  USE_STREAMS;
  MUST(cuStreamSynchronize(stream));
}

// By the host itself, which a driver does not see.
static void check_host_releases(void) {
  USE_STREAMS;
  set_flag(0);
  MUST(launch(wait_for, 1, 1, waits, ARGUMENTS(&flag_on_device)));
  while (cuStreamQuery(waits) == NOT_READY && !*flag) set_flag(1);
  must_wait(waits);
}

// By another kernel, a copy, a memset, or a host function of another stream.
static void check_stream_releases(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  CUdeviceptr word;
  MUST(cuMemAlloc(&word, 4));
  MUST(cuMemsetD8Async(word, 0, 4, other));
  must_wait(other);
  MUST(launch(wait_for, 1, 1, waits, ARGUMENTS(&word)));
  MUST_BE(cuStreamQuery(waits), NOT_READY);
  MUST_BE(cuStreamQuery(waits), NOT_READY);  // it runs by now
  MUST(launch(fill, 1, 1, other, ARGUMENTS(&word, &one)));
  must_wait(other);
  must_wait(waits);

  MUST(cuMemsetD8Async(word, 0, 4, other));
  must_wait(other);
  MUST(launch(wait_for, 1, 1, waits, ARGUMENTS(&word)));
  (void)cuStreamQuery(waits), (void)cuStreamQuery(waits);
  MUST(cuMemsetD8Async(word, 1, 4, other));
  must_wait(other);
  must_wait(waits);

  set_flag(0);
  MUST(launch(wait_for, 1, 1, waits, ARGUMENTS(&flag_on_device)));
  (void)cuStreamQuery(waits), (void)cuStreamQuery(waits);
  open_gate();
  HOLD_UP(other);  // a host function that ends at once
  must_wait(other);
  MUST_BE(cuStreamQuery(waits), NOT_READY);
  set_flag(1);
  must_wait(waits);
  MUST(cuMemFree(word));
}

// More of them than this machine has processors, the last of which frees the one before, and so on.
static void check_chain(void) {
  USE_MEMORY;
  USE_STREAMS;
  CUstream streams[SEVERAL];
  CUdeviceptr words;
  MUST(cuMemAlloc(&words, SEVERAL * 4));
  MUST(cuMemsetD8Async(words, 0, SEVERAL * 4, other));
  must_wait(other);
  for (int i = 0; i < SEVERAL; ++i) {
    CUdeviceptr mine = words + 4 * (CUdeviceptr)i, before = mine - 4;
    MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
    MUST(launch(wait_for, 1, 1, streams[i], ARGUMENTS(&mine)));
    if (i) MUST(launch(fill, 1, 1, streams[i], ARGUMENTS(&before, &one)));
  }
  for (int i = 0; i < SEVERAL; ++i)
    (void)cuStreamQuery(streams[i]), (void)cuStreamQuery(streams[i]);
  CUdeviceptr last = words + 4 * (SEVERAL - 1);
  MUST(launch(fill, 1, 1, other, ARGUMENTS(&last, &one)));
  must_wait(other);
  for (int i = 0; i < SEVERAL; ++i) {
    must_wait(streams[i]);
    MUST(cuStreamDestroy(streams[i]));
  }
  MUST(cuMemFree(words));
}

// Memory goes while a kernel runs that uses it: the race is found, and nothing worse happens.
static void check_freed(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  CUdeviceptr memory, again;
  sim.reset();
  MUST(cuMemAllocAsync(&memory, SIZE, waits));
  MUST(cuMemsetD8Async(memory, 0, SIZE, waits));
  must_wait(waits);
  MUST(launch(wait_for, 1, 1, waits, ARGUMENTS(&memory)));
  (void)cuStreamQuery(waits), (void)cuStreamQuery(waits);
  MUST(cuMemFreeAsync(memory, other));
  MUST(cuMemAllocAsync(&again, SIZE, other));
  MUST_BE(again == memory, 1);
  MUST(cuMemsetD8Async(again, 1, SIZE, other));
  must_wait(other);
  must_wait(waits);
  MUST_BE(sim.races() > 0, 1);
  MUST(cuMemFreeAsync(again, other));
  must_wait(other);
  sim.reset();
}

static void *set_flag_later(void *unused) {
  (void)unused;
  usleep(20000);
  set_flag(1);
  return NULL;
}

// Registered memory is the client's again once it is not registered any more, though the kernel is
// another device's.
static void check_unregistered(void) {
  USE_STREAMS;
  USE(cuMemHostRegister, 4000, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuCtxPushCurrent, 4000, CUcontext);
  unsigned *const before = flag;
  CUcontext second;
  CUdeviceptr address;
  CUstream stream;
  pthread_t setter;
  flag = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(cuMemHostRegister(flag, SIZE, 1));
  MUST(cuMemHostGetDevicePointer(&address, flag, 0));
  MUST(cuCtxCreate(&second, 0, 1));
  const CUmodule there = module_of(PTX_HEADER PTX_WAIT);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(launch(function_in(there, "wait_for"), 1, 1, stream, ARGUMENTS(&address)));
  (void)cuStreamQuery(stream), (void)cuStreamQuery(stream);
  MUST(cuCtxPopCurrent(NULL));
  MUST_BE(pthread_create(&setter, NULL, set_flag_later, NULL), 0);
  MUST(cuMemHostUnregister(flag));
  MUST_BE(pthread_join(setter, NULL), 0);
  MUST_BE(munmap(flag, SIZE), 0);
  MUST(cuCtxPushCurrent(second));
  must_wait(stream);
  MUST(cuCtxDestroy(second));
  flag = before;
}

// The process ends while one runs.
static void leave_one(void) {
  USE_STREAMS;
  set_flag(0);
  MUST(launch(wait_for, 1, 1, waits, ARGUMENTS(&flag_on_device)));
  (void)cuStreamQuery(waits), (void)cuStreamQuery(waits);
}

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  module = module_of(PTX_HEADER PTX_WAIT PTX_FILL);
  wait_for = function_in(module, "wait_for");
  fill = function_in(module, "fill");
  MUST(cuStreamCreate(&waits, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuMemAlloc(&x, SIZE));
  MUST(cuMemHostAlloc((void **)&flag, SIZE, 0));
  MUST(cuMemHostGetDevicePointer(&flag_on_device, flag, 0));
  check_host_releases();
  check_stream_releases();
  check_chain();
  check_freed();
  check_unregistered();
  leave_one();
  return 0;
}
