// SPDX-License-Identifier: BSD-3-Clause
// On a device with little memory, memory runs out as it would on a large one. Memory that pools
// hold unused goes to allocations that need it, and counts stay exact.
#include "ptx.h"

enum { MIB = 1 << 20 };

static size_t free_memory(void) {
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  MUST_BE(total, 16 * MIB);
  return free;
}

int main(void) {
  setenv("SIMCUDA_DEVICE_MIB", "16", 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE_GATE;
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  CUmemoryPool pool;
  CUdeviceptr data, other, large;
  CUstream stream;
  uint64_t keep = UINT64_MAX, used = 0;
  MUST_BE(free_memory(), 16 * MIB);
  MUST(cuMemAlloc(&data, 10 * MIB));
  MUST_BE(cuMemAlloc(&other, 6 * MIB + 1), OUT_OF_MEMORY);
  MUST(cuMemAlloc(&other, 6 * MIB));
  MUST_BE(free_memory(), 0);
  MUST_BE(cuMemAllocAsync(&large, 1, LEGACY), OUT_OF_MEMORY);
  MUST(cuMemFree(data));
  MUST(cuMemFree(other));
  MUST_BE(free_memory(), 16 * MIB);

  // There is no room for this variable, however little else there is.
  USE(cuModuleLoadData, 2000, CUmodule *, const void *);
  CUmodule module;
  MUST_BE(cuModuleLoadData(&module, PTX_HEADER ".global .b8 much[33554432];\n"), OUT_OF_MEMORY);
  MUST(cuModuleLoadData(&module, PTX_HEADER ".global .b8 little[1024];\n"));
  MUST_BE(free_memory(), 16 * MIB);

  // A pool that keeps all memory returns it if others need it.
  MUST(cuDeviceGetDefaultMemPool(&pool, 0));
  MUST(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  MUST(cuMemAllocAsync(&data, 12 * MIB, LEGACY));
  MUST(cuMemFreeAsync(data, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(free_memory(), 4 * MIB);
  MUST(cuMemAlloc(&large, 14 * MIB));
  MUST_BE(free_memory(), 2 * MIB);
  MUST(cuMemFree(large));

  // One that is refused leaves what was freed to others.
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, 12 * MIB, stream));
  HOLD_UP(stream);
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuMemAlloc(&large, 8 * MIB), OUT_OF_MEMORY);  // its free has not come about
  MUST_BE(cuMemAllocAsync(&large, 8 * MIB, stream), OUT_OF_MEMORY);
  MUST(cuMemAllocAsync(&large, 12 * MIB, stream));  // the same block
  MUST_BE(large == data, 1);
  MUST(cuMemPoolGetAttribute(pool, USED, &used));
  MUST_BE(used, 12 * MIB);
  open_gate();
  MUST(cuMemFreeAsync(large, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolTrimTo(pool, 0));
  MUST_BE(free_memory(), 16 * MIB);
  return 0;
}
