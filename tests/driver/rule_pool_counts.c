// SPDX-License-Identifier: BSD-3-Clause
// Rule: A pool counts what is used and reserved of it, and the most that was since the high
// watermarks were set to 0; other values of those are refused.
// Source: cuda.h, cuMemPoolGetAttribute and cuMemPoolSetAttribute
#include "driver_test.h"

static uint64_t attribute(CUmemoryPool pool, int which) {
  USE(cuMemPoolGetAttribute, 11020, CUmemoryPool, int, void *);
  uint64_t value = 77;
  OK(cuMemPoolGetAttribute(pool, which, &value));
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
  OK(cuMemPoolCreate(&pool, &properties));
  EXPECT(attribute(pool, THRESHOLD), 0);
  OK(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  EXPECT(attribute(pool, THRESHOLD), keep);
  for (int i = 0; i < 3; ++i) OK(cuMemAllocFromPoolAsync(&data[i], SIZE, pool, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(attribute(pool, USED), 3 * SIZE);
  EXPECT(attribute(pool, RESERVED) >= 3 * SIZE, 1);
  for (int i = 0; i < 2; ++i) OK(cuMemFreeAsync(data[i], LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(attribute(pool, USED), SIZE);
  EXPECT(attribute(pool, USED_HIGH), 3 * SIZE);
  EXPECT(attribute(pool, RESERVED_HIGH) >= 3 * SIZE, 1);
  OK(cuMemPoolSetAttribute(pool, USED_HIGH, &zero));
  OK(cuMemPoolSetAttribute(pool, RESERVED_HIGH, &zero));
  EXPECT(attribute(pool, USED_HIGH), SIZE);
  EXPECT(attribute(pool, RESERVED_HIGH), attribute(pool, RESERVED));
  EXPECT(cuMemPoolSetAttribute(pool, USED_HIGH, &keep), INVALID_VALUE);
  EXPECT(cuMemPoolSetAttribute(pool, USED, &zero), INVALID_VALUE);
  EXPECT(cuMemPoolGetAttribute(pool, 99, &zero), INVALID_VALUE);
  OK(cuMemFreeAsync(data[2], LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemPoolDestroy(pool));
  return 0;
}
