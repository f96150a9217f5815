// SPDX-License-Identifier: BSD-3-Clause
// Rule: The free memory of a device is less by what is allocated, and by what a pool holds: all
// that is used, and what has been freed as far as the pool keeps it.
// Source: cuda.h, cuMemGetInfo and CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
#include "driver_test.h"

enum { SIZE = 64 << 20 };

static size_t free_memory(void) {
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  MUST_BE(free <= total, 1);
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
  MUST(cuMemAlloc(&data, SIZE));  // so that what the driver itself needs is there
  MUST(cuMemFree(data));
  const size_t before = free_memory();
  MUST(cuMemAlloc(&data, SIZE));
  MUST_BE(free_memory() <= before - SIZE, 1);
  MUST(cuMemFree(data));
  MUST_BE(free_memory(), before);

  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(free_memory() <= before - SIZE, 1);
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));  // nothing is kept by default
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved, 0);
  MUST_BE(free_memory(), before);

  keep = UINT64_MAX;
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolGetAttribute(pool, USED, &used));
  MUST_BE(used, 0);
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved >= SIZE, 1);
  MUST_BE(free_memory() <= before - SIZE, 1);
  keep = 0;  // nothing more from the next wait on
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved, 0);
  MUST_BE(free_memory(), before);

  keep = UINT64_MAX;
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(free_memory() <= before - SIZE, 1);
  MUST(cuMemPoolTrimTo(pool, 0));
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved, 0);
  MUST_BE(free_memory(), before);
  MUST(cuMemAllocFromPoolAsync(&pooled, SIZE, pool, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(free_memory(), before);
  return 0;
}
