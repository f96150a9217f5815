// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory of a pool belongs to its stream's order: allocated, used and freed with no wait
// between.
// Source: cuda.h, cuMemAllocFromPoolAsync and cuMemFreeAsync
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const void *);
  USE(cuMemPoolDestroy, 11020, CUmemoryPool);
  USE(cuMemPoolGetAttribute, 11020, CUmemoryPool, int, void *);
  USE(cuMemAllocFromPoolAsync, 11020, CUdeviceptr *, size_t, CUmemoryPool, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  enum { USED_MEM_CURRENT = 7 };
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr data, copy;
  uint64_t used = 0;
  unsigned char value = 0;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemAllocFromPoolAsync(&data, 1024, pool, stream));
  MUST(cuMemPoolGetAttribute(pool, USED_MEM_CURRENT, &used));
  MUST_BE(used >= 1024, 1);
  MUST(cuMemsetD8Async(data, 3, 1024, stream));
  MUST(cuMemcpyDtoDAsync(copy, data + 1023, 1, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolGetAttribute(pool, USED_MEM_CURRENT, &used));
  MUST_BE(used, 0);
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 3);
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
