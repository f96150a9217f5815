// SPDX-License-Identifier: BSD-3-Clause
// Rule: Without another choice cuMemAllocAsync takes from the device's default pool.
// Source: cuda.h, cuMemAllocAsync and cuDeviceGetMemPool
#include "attributes.h"

int main(void) {
  start();
  USE_STREAMS;
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuDeviceGetMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  CUmemoryPool by_default, current;
  CUdeviceptr data;
  MUST(cuDeviceGetDefaultMemPool(&by_default, 0));
  MUST(cuDeviceGetMemPool(&current, 0));
  MUST_BE(by_default == current, 1);
  MUST(cuMemAllocAsync(&data, 64, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(attributes_of(data).of[MEMPOOL_HANDLE] == address_of(by_default), 1);
  return 0;
}
