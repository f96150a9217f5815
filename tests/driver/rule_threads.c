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
  OK(cuCtxSetCurrent(context));
  int calls = 0;
  for (int round = 0; round < rounds; ++round) {
    CUstream a, b;
    CUevent event;
    CUdeviceptr from, to, pooled;
    unsigned char *host;
    OK(cuStreamCreate(&a, round % 2 ? NON_BLOCKING : 0));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(cuEventCreate(&event, 2));
    OK(cuMemAlloc(&from, SIZE));
    OK(cuMemAlloc(&to, SIZE));
    OK(cuMemHostAlloc((void **)&host, SIZE, 0));
    OK(cuMemAllocAsync(&pooled, SIZE, a));
    OK(cuMemsetD8Async(from, mine, SIZE, a));
    OK(cuMemcpyDtoDAsync(pooled, from, SIZE, a));
    OK(cuLaunchHostFunc(a, add_one, &calls));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(cuStreamWaitEvent(shared, event, 0));
    OK(cuMemcpyDtoDAsync(to, pooled, SIZE, b));
    OK(cuEventRecord(event, b));
    OK(cuStreamWaitEvent(PER_THREAD, event, 0));
    OK(cuMemcpyDtoHAsync(host, to, SIZE, PER_THREAD));
    OK(cuMemFreeAsync(pooled, b));
    if (round % 3 == 0)
      OK(cuCtxSynchronize());
    else if (round % 3 == 1)
      OK(cuStreamSynchronize(PER_THREAD));
    else
      while (cuStreamQuery(PER_THREAD) == NOT_READY) usleep(1);
    EXPECT(calls, round + 1);
    for (int i = 0; i < SIZE; ++i) EXPECT(host[i], mine);
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
    OK(cuEventDestroy(event));
    OK(cuMemFree(from));
    OK(cuMemFree(to));
    OK(cuMemFreeHost(host));
  }
  return NULL;
}

int main(void) {
  const char *longer = getenv("CAI_TEST_LONG");
  if (longer && *longer == '1') rounds = 400;
  context = start();
  USE_STREAMS;
  pthread_t threads[THREADS];
  OK(cuStreamCreate(&shared, NON_BLOCKING));
  for (uintptr_t i = 0; i < THREADS; ++i)
    EXPECT(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; ++i) EXPECT(pthread_join(threads[i], NULL), 0);
  OK(cuStreamSynchronize(shared));
  return 0;
}
