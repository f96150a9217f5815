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
  OK(cuDeviceGetDefaultMemPool(&standard, 0));
  OK(cuDeviceGetMemPool(&now, 0));
  EXPECT(now == standard, 1);
  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuDeviceSetMemPool(0, pool));
  OK(cuDeviceGetMemPool(&now, 0));
  EXPECT(now == pool, 1);
  OK(cuMemAllocAsync(&data, 64, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(attributes_of(data).of[MEMPOOL_HANDLE] == address_of(pool), 1);
  OK(cuMemFreeAsync(data, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemPoolDestroy(pool));
  OK(cuDeviceGetMemPool(&now, 0));
  EXPECT(now == standard, 1);
  EXPECT(cuMemPoolDestroy(standard) != SUCCESS, 1);
  return 0;
}
