// SPDX-License-Identifier: BSD-3-Clause
// Rule: A pool counts what is used and reserved of it, and the most that was since the high
// watermarks were set to 0; other values of those are refused.
// Source: cuda.h, cuMemPoolGetAttribute and cuMemPoolSetAttribute
#include "driver_test.h"

static uint64_t attribute(CUmemoryPool pool, int which) {
  USE(cuMemPoolGetAttribute, 11020, CUmemoryPool, int, void *);
  uint64_t value = 77;
  MUST(cuMemPoolGetAttribute(pool, which, &value));
  return value;
}

int main(void) {
  start();
  USE_STREAMS;
  USE_POOLS;
  enum { SIZE = 1 << 20 };
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  CUdeviceptr data[3];
  uint64_t keep = 64 << 20, zero = 0;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST_BE(attribute(pool, THRESHOLD), 0);
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST_BE(attribute(pool, THRESHOLD), keep);
  for (int i = 0; i < 3; ++i) MUST(cuMemAllocFromPoolAsync(&data[i], SIZE, pool, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(attribute(pool, USED), 3 * SIZE);
  MUST_BE(attribute(pool, RESERVED) >= 3 * SIZE, 1);
  for (int i = 0; i < 2; ++i) MUST(cuMemFreeAsync(data[i], LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(attribute(pool, USED), SIZE);
  MUST_BE(attribute(pool, USED_HIGH), 3 * SIZE);
  MUST_BE(attribute(pool, RESERVED_HIGH) >= 3 * SIZE, 1);
  MUST(cuMemPoolSetAttribute(pool, USED_HIGH, &zero));
  MUST(cuMemPoolSetAttribute(pool, RESERVED_HIGH, &zero));
  MUST_BE(attribute(pool, USED_HIGH), SIZE);
  MUST_BE(attribute(pool, RESERVED_HIGH), attribute(pool, RESERVED));
  MUST_BE(cuMemPoolSetAttribute(pool, USED_HIGH, &keep), INVALID_VALUE);
  MUST_BE(cuMemPoolSetAttribute(pool, USED, &zero), INVALID_VALUE);
  MUST_BE(cuMemPoolGetAttribute(pool, 99, &zero), INVALID_VALUE);
  MUST(cuMemFreeAsync(data[2], LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
