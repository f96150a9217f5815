// SPDX-License-Identifier: BSD-3-Clause
// Rule: A device allocates from the pool that was set for it; when that is destroyed, from its
// default pool, which cannot be.
// Source: cuda.h, cuDeviceSetMemPool and cuMemPoolDestroy
#include "attributes.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_POOLS;
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuDeviceGetMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuDeviceSetMemPool, 11020, CUdevice, CUmemoryPool);
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool, standard, now;
  CUdeviceptr data;
  MUST(cuDeviceGetDefaultMemPool(&standard, 0));
  MUST(cuDeviceGetMemPool(&now, 0));
  MUST_BE(now == standard, 1);
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuDeviceSetMemPool(0, pool));
  MUST(cuDeviceGetMemPool(&now, 0));
  MUST_BE(now == pool, 1);
  MUST(cuMemAllocAsync(&data, 64, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(attributes_of(data).of[MEMPOOL_HANDLE] == address_of(pool), 1);
  MUST(cuMemFreeAsync(data, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuDeviceGetMemPool(&now, 0));
  MUST_BE(now == standard, 1);
  MUST_BE(cuMemPoolDestroy(standard) != SUCCESS, 1);
  return 0;
}
