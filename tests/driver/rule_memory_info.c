// SPDX-License-Identifier: BSD-3-Clause
// Rule: The free memory of a device is less by what is allocated, and by what a pool holds: all
// that is used, and what has been freed as far as the pool keeps it.
// Source: cuda.h, cuMemGetInfo and CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
#include "driver_test.h"

enum { SIZE = 64 << 20 };

static size_t free_memory(void) {
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  EXPECT(free <= total, 1);
  return free;
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  CUdeviceptr data, pooled;
  uint64_t keep = 0, used = 0, reserved = 0;
  OK(cuMemAlloc(&data, SIZE));  // so that what the driver itself needs is there
  OK(cuMemFree(data));
  const size_t before = free_memory();
  OK(cuMemAlloc(&data, SIZE));
  EXPECT(free_memory() <= before - SIZE, 1);
  OK(cuMemFree(data));
  EXPECT(free_memory(), before);

  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(free_memory() <= before - SIZE, 1);
  OK(cuMemFreeAsync(pooled, LEGACY));
  OK(cuStreamSynchronize(LEGACY));  // nothing is kept by default
  OK(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  EXPECT(reserved, 0);
  EXPECT(free_memory(), before);

  keep = UINT64_MAX;
  OK(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  OK(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  OK(cuMemFreeAsync(pooled, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemPoolGetAttribute(pool, USED, &used));
  EXPECT(used, 0);
  OK(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  EXPECT(reserved >= SIZE, 1);
  EXPECT(free_memory() <= before - SIZE, 1);
  OK(cuMemPoolTrimTo(pool, 0));
  OK(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  EXPECT(reserved, 0);
  EXPECT(free_memory(), before);
  OK(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  OK(cuMemFreeAsync(pooled, LEGACY));
  OK(cuMemPoolDestroy(pool));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(free_memory(), before);
  return 0;
}
