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
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAlloc(&kept, SIZE));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));

  // Nothing may be handed to another stream while the free is pending and no edge is allowed.
  for (int attribute = FOLLOW; attribute <= INTERNAL; ++attribute)
    MUST(cuMemPoolSetAttribute(pool, attribute, &off));
  MUST(cuMemAllocFromPoolAsync(&first, SIZE, pool, one));
  pthread_mutex_lock(&gate);
  MUST(cuLaunchHostFunc(one, pass, NULL));
  MUST(cuMemsetD8Async(first, 1, SIZE, one));
  MUST(cuMemcpyDtoDAsync(kept, first, SIZE, one));
  MUST(cuMemFreeAsync(first, one));
  MUST(cuMemAllocFromPoolAsync(&second, SIZE, pool, two));
  MUST_BE(first + SIZE <= second || second + SIZE <= first, 1);
  pthread_mutex_unlock(&gate);
  MUST(cuMemFreeAsync(second, two));
  MUST(cuStreamSynchronize(two));
  MUST(cuStreamSynchronize(one));

  // With such an edge, or in the same stream, earlier work still sees its own bytes.
  for (int attribute = FOLLOW; attribute <= INTERNAL; ++attribute)
    MUST(cuMemPoolSetAttribute(pool, attribute, &on));
  for (int same = 0; same < 2; ++same) {
    CUstream next = same ? one : two;
    MUST(cuMemAllocFromPoolAsync(&first, SIZE, pool, one));
    MUST(cuMemsetD8Async(first, 2, SIZE, one));
    MUST(cuMemcpyDtoDAsync(kept, first, SIZE, one));
    MUST(cuMemFreeAsync(first, one));
    MUST(cuMemAllocFromPoolAsync(&second, SIZE, pool, next));
    MUST(cuMemsetD8Async(second, 3, SIZE, next));
    MUST(cuStreamSynchronize(next));
    MUST(cuMemcpyDtoH(bytes, second, SIZE));
    MUST_BE(bytes[0], 3);
    MUST_BE(bytes[SIZE - 1], 3);
    MUST(cuMemFreeAsync(second, next));
    MUST(cuStreamSynchronize(one));
    MUST(cuMemcpyDtoH(bytes, kept, SIZE));
    MUST_BE(bytes[0], 2);
    MUST_BE(bytes[SIZE - 1], 2);
  }
  MUST(cuStreamSynchronize(two));
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
