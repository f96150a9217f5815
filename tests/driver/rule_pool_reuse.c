// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory freed in a stream may come again, never while work ordered before its free can still
// use it; what another stream frees may come only as the pool's attributes allow.
// Source: cuda.h, cuMemPoolSetAttribute
#include <pthread.h>

#include "driver_test.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void pass(void *unused) {
  (void)unused;
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
}

struct properties {
  int type, handles;
  int location_type, location;
  void *reserved0;
  size_t most;
  unsigned char reserved[56];
};

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const struct properties *);
  USE(cuMemPoolSetAttribute, 11020, CUmemoryPool, int, void *);
  USE(cuMemPoolDestroy, 11020, CUmemoryPool);
  USE(cuMemAllocFromPoolAsync, 11020, CUdeviceptr *, size_t, CUmemoryPool, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  enum { SIZE = 1 << 20, PINNED = 1, DEVICE = 1, FOLLOW = 1, OPPORTUNISTIC = 2, INTERNAL = 3 };
  static unsigned char bytes[SIZE];
  struct properties properties;
  CUmemoryPool pool;
  CUstream one, two;
  CUdeviceptr first, second, kept;
  int off = 0, on = 1;
  memset(&properties, 0, sizeof properties);
  properties.type = PINNED;
  properties.location_type = DEVICE;
  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuMemAlloc(&kept, SIZE));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));

  // Nothing may be handed to another stream while the free is pending and no edge is allowed.
  for (int attribute = FOLLOW; attribute <= INTERNAL; ++attribute)
    OK(cuMemPoolSetAttribute(pool, attribute, &off));
  OK(cuMemAllocFromPoolAsync(&first, SIZE, pool, one));
  pthread_mutex_lock(&gate);
  OK(cuLaunchHostFunc(one, pass, NULL));
  OK(cuMemsetD8Async(first, 1, SIZE, one));
  OK(cuMemcpyDtoDAsync(kept, first, SIZE, one));
  OK(cuMemFreeAsync(first, one));
  OK(cuMemAllocFromPoolAsync(&second, SIZE, pool, two));
  EXPECT(first + SIZE <= second || second + SIZE <= first, 1);
  pthread_mutex_unlock(&gate);
  OK(cuMemFreeAsync(second, two));
  OK(cuStreamSynchronize(two));
  OK(cuStreamSynchronize(one));

  // With such an edge, or in the same stream, earlier work still sees its own bytes.
  for (int attribute = FOLLOW; attribute <= INTERNAL; ++attribute)
    OK(cuMemPoolSetAttribute(pool, attribute, &on));
  for (int same = 0; same < 2; ++same) {
    CUstream next = same ? one : two;
    OK(cuMemAllocFromPoolAsync(&first, SIZE, pool, one));
    OK(cuMemsetD8Async(first, 2, SIZE, one));
    OK(cuMemcpyDtoDAsync(kept, first, SIZE, one));
    OK(cuMemFreeAsync(first, one));
    OK(cuMemAllocFromPoolAsync(&second, SIZE, pool, next));
    OK(cuMemsetD8Async(second, 3, SIZE, next));
    OK(cuStreamSynchronize(next));
    OK(cuMemcpyDtoH(bytes, second, SIZE));
    EXPECT(bytes[0], 3);
    EXPECT(bytes[SIZE - 1], 3);
    OK(cuMemFreeAsync(second, next));
    OK(cuStreamSynchronize(one));
    OK(cuMemcpyDtoH(bytes, kept, SIZE));
    EXPECT(bytes[0], 2);
    EXPECT(bytes[SIZE - 1], 2);
  }
  OK(cuStreamSynchronize(two));
  OK(cuMemPoolDestroy(pool));
  return 0;
}
