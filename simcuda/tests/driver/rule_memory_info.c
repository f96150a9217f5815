// SPDX-License-Identifier: BSD-3-Clause
// Rule: The free memory of a device is less by what is allocated, and by what a pool holds: all
// that is used, and what has been freed as far as the pool keeps it.
// Source: cuda.h, cuMemGetInfo and CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
#include "driver_test.h"

static size_t total, before, size;

static size_t free_memory(void) {
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  size_t free = 0;
  MUST(cuMemGetInfo(&free, &total));
  MUST_BE(free <= total, 1);
  return free;
}

// More or less: others use the device, too. simcuda's own programs know it exactly.
static void expect_taken(void) { MUST_HOLD(free_memory() < before - size / 2); }
static void expect_free(void) { MUST_HOLD(free_memory() > before - size / 2); }

int main(void) {
  setenv("SIMCUDA_DEVICE_MIB", "256", 1);  // simcuda fills what it allocates
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  CUdeviceptr data, pooled;
  uint64_t keep = 0, used = 0, reserved = 0;
  before = free_memory();
  size = total / 4;
  MUST(cuMemAlloc(&data, size));  // so that what the driver itself needs is there
  MUST(cuMemFree(data));
  before = free_memory();
  MUST(cuMemAlloc(&data, size));
  expect_taken();
  MUST(cuMemFree(data));
  expect_free();

  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&pooled, size, pool, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  expect_taken();
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));  // nothing is kept by default
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved, 0);
  expect_free();

  keep = UINT64_MAX;
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuMemAllocFromPoolAsync(&pooled, size, pool, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolGetAttribute(pool, USED, &used));
  MUST_BE(used, 0);
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved >= size, 1);
  expect_taken();
  keep = 0;  // nothing more from the next wait on
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved, 0);
  expect_free();

  keep = UINT64_MAX;
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuMemAllocFromPoolAsync(&pooled, size, pool, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  expect_taken();
  MUST(cuMemPoolTrimTo(pool, 0));
  MUST(cuMemPoolGetAttribute(pool, RESERVED, &reserved));
  MUST_BE(reserved, 0);
  expect_free();
  MUST(cuMemAllocFromPoolAsync(&pooled, size, pool, LEGACY));
  MUST(cuMemFreeAsync(pooled, LEGACY));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamSynchronize(LEGACY));
  expect_free();
  return 0;
}
