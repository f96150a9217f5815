// SPDX-License-Identifier: BSD-3-Clause
// However many blocks there were, and of however many sizes: counts stay exact, and no list grows.
#include <malloc.h>

#include "driver_test.h"

static size_t free_memory(void) {
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  return free;
}

// The bytes that simcuda has allocated for itself; under a sanitizer, whose allocator keeps no such
// count, 0.
static size_t host_memory(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static size_t mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  MUST_BE(maps != NULL, 1);
  size_t lines = 0;
  for (int c = getc(maps); c != EOF; c = getc(maps)) lines += c == '\n';
  fclose(maps);
  return lines;
}

int main(void) {
  setenv("SIMCUDA_RACES", "off", 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  enum { PAIRS = 100000, ALIVE = 20000, PAGE = 4096 };
  static CUdeviceptr alive[ALIVE];
  CUdeviceptr data;
  CUmemoryPool pool;
  uint64_t used = 0;
  const PoolProperties properties = {.type = 1, .location_type = 1};
  const size_t before = free_memory();
  MUST(cuMemPoolCreate(&pool, &properties));
  size_t allocated = 0, mapped = 0;
  for (int i = 0; i < PAIRS; ++i) {
    const size_t pages = i % 100 ? 0 : (size_t)(i / 100 % 20);
    MUST(cuMemAllocFromPoolAsync(&data, 64 + pages * PAGE, pool, LEGACY));
    MUST(cuMemFreeAsync(data, LEGACY));
    if (i % 1000 == 0) MUST(cuStreamSynchronize(LEGACY));
    if (i == PAIRS / 2) {  // what is kept for a while has its size by then
      allocated = host_memory();
      mapped = mappings();
    }
  }
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(host_memory() < allocated + PAIRS / 10, 1);
  MUST_BE(mappings() < mapped + 100, 1);
  MUST_BE(free_memory(), before);
  MUST(cuMemPoolGetAttribute(pool, USED, &used));
  MUST_BE(used, 0);

  for (int i = 0; i < ALIVE; ++i) MUST(cuMemAllocFromPoolAsync(&alive[i], 100, pool, LEGACY));
  MUST(cuMemPoolGetAttribute(pool, USED, &used));
  MUST_BE(used, 100 * ALIVE);
  MUST(cuStreamSynchronize(LEGACY));
  for (int i = 0; i < ALIVE; ++i) MUST(cuMemFreeAsync(alive[i], LEGACY));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(free_memory(), before);
  for (int i = 0; i < ALIVE; ++i) MUST(cuMemAlloc(&alive[i], 100));
  MUST_BE(free_memory(), before - 100 * ALIVE);
  for (int i = 0; i < ALIVE; ++i) MUST(cuMemFree(alive[i]));
  MUST_BE(free_memory(), before);

  // More than a process may have mappings.
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  enum { HOST = 70000 };
  static unsigned char *host[HOST];
  for (int i = 0; i < HOST; ++i) {
    MUST(cuMemHostAlloc((void **)&host[i], 100, 0));
    host[i][99] = (unsigned char)i;
  }
  for (int i = 0; i < HOST; ++i) {
    MUST_BE(host[i][99], i % 256);
    MUST(cuMemFreeHost(host[i]));
  }
  MUST_BE(mappings() < mapped + 100, 1);
  return 0;
}
