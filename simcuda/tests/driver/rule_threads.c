// SPDX-License-Identifier: BSD-3-Clause
// Rule: Many threads at once, each with streams of its own, some shared: each gets its own work
// right.
// Source: cuda.h: the driver API is safe to call from many threads
#include <pthread.h>

#include "driver_test.h"

enum { THREADS = 8, SIZE = 256 };

static CUcontext context;
static CUstream shared;
static int rounds = 20;

static void add_one(void *data) { ++*(int *)data; }

static void *work(void *number) {
  const unsigned char mine = (unsigned char)(uintptr_t)number;
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  MUST(cuCtxSetCurrent(context));
  int calls = 0;
  for (int round = 0; round < rounds; ++round) {
    CUstream a, b;
    CUevent event;
    CUdeviceptr from, to, pooled;
    unsigned char *host;
    MUST(cuStreamCreate(&a, round % 2 ? NON_BLOCKING : 0));
    MUST(cuStreamCreate(&b, NON_BLOCKING));
    MUST(cuEventCreate(&event, 2));
    MUST(cuMemAlloc(&from, SIZE));
    MUST(cuMemAlloc(&to, SIZE));
    MUST(cuMemHostAlloc((void **)&host, SIZE, 0));
    MUST(cuMemAllocAsync(&pooled, SIZE, a));
    MUST(cuMemsetD8Async(from, mine, SIZE, a));
    MUST(cuMemcpyDtoDAsync(pooled, from, SIZE, a));
    MUST(cuLaunchHostFunc(a, add_one, &calls));
    MUST(cuEventRecord(event, a));
    MUST(cuStreamWaitEvent(b, event, 0));
    MUST(cuStreamWaitEvent(shared, event, 0));
    MUST(cuMemcpyDtoDAsync(to, pooled, SIZE, b));
    MUST(cuEventRecord(event, b));
    MUST(cuStreamWaitEvent(PER_THREAD, event, 0));
    MUST(cuMemcpyDtoHAsync(host, to, SIZE, PER_THREAD));
    MUST(cuMemFreeAsync(pooled, b));
    if (round % 3 == 0)
      MUST(cuCtxSynchronize());
    else if (round % 3 == 1)
      MUST(cuStreamSynchronize(PER_THREAD));
    else
      while (cuStreamQuery(PER_THREAD) == NOT_READY) usleep(1);
    MUST_BE(calls, round + 1);
    for (int i = 0; i < SIZE; ++i) MUST_BE(host[i], mine);
    MUST(cuStreamDestroy(a));
    MUST(cuStreamDestroy(b));
    MUST(cuEventDestroy(event));
    MUST(cuMemFree(from));
    MUST(cuMemFree(to));
    MUST(cuMemFreeHost(host));
  }
  return NULL;
}

int main(void) {
  const char *longer = getenv("SIM_TEST_LONG");
  if (longer && *longer == '1') rounds = 400;
  context = start();
  USE_STREAMS;
  pthread_t threads[THREADS];
  MUST(cuStreamCreate(&shared, NON_BLOCKING));
  for (uintptr_t i = 0; i < THREADS; ++i)
    MUST_BE(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; ++i) MUST_BE(pthread_join(threads[i], NULL), 0);
  MUST(cuStreamSynchronize(shared));
  return 0;
}
