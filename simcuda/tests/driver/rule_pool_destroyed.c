// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory of a destroyed pool lives until it is freed.
// Source: cuda.h, cuMemPoolDestroy
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemPoolCreate, 11020, CUmemoryPool *, const void *);
  USE(cuMemPoolDestroy, 11020, CUmemoryPool);
  USE(cuMemAllocFromPoolAsync, 11020, CUdeviceptr *, size_t, CUmemoryPool, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr data;
  unsigned char value = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&data, 64, pool, stream));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuMemsetD8Async(data, 8, 64, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 8);
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuStreamSynchronize(stream));
  return 0;
}
