// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory of a pool is device memory that names its pool.
// Source: cuda.h, cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  start();
  USE_STREAMS;
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  CUmemoryPool pool;
  CUdeviceptr data;
  MUST(cuDeviceGetDefaultMemPool(&pool, 0));
  MUST(cuMemAllocAsync(&data, 4096, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  const Attributes a = attributes_of(data + 100);
  MUST_BE(a.of[MEMORY_TYPE], DEVICE_MEMORY);
  MUST_BE(a.of[DEVICE_ORDINAL], 0);
  MUST_BE(a.of[DEVICE_POINTER] == data + 100, 1);
  MUST_BE(a.of[IS_MANAGED], 0);
  MUST_BE(a.of[MEMPOOL_HANDLE] == address_of(pool), 1);
  return 0;
}
