// SPDX-License-Identifier: BSD-3-Clause
// On a device with little memory, memory runs out as it would on a large one; what pools hold
// unused is given to whoever needs it, and counts stay exact.
#include "driver_test.h"

enum { MIB = 1 << 20 };

static size_t free_memory(void) {
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  EXPECT(total, 16 * MIB);
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
  EXPECT(free_memory(), 16 * MIB);
  OK(cuMemAlloc(&data, 10 * MIB));
  EXPECT(cuMemAlloc(&other, 6 * MIB + 1), OUT_OF_MEMORY);
  OK(cuMemAlloc(&other, 6 * MIB));
  EXPECT(free_memory(), 0);
  EXPECT(cuMemAllocAsync(&large, 1, LEGACY), OUT_OF_MEMORY);
  OK(cuMemFree(data));
  OK(cuMemFree(other));
  EXPECT(free_memory(), 16 * MIB);

  // A pool that keeps all gives it to others that need it.
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  OK(cuMemPoolSetAttribute(pool, THRESHOLD, &keep));
  OK(cuMemAllocAsync(&data, 12 * MIB, LEGACY));
  OK(cuMemFreeAsync(data, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(free_memory(), 4 * MIB);
  OK(cuMemAlloc(&large, 14 * MIB));
  EXPECT(free_memory(), 2 * MIB);
  OK(cuMemFree(large));

  // One that is refused leaves what was freed to others.
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAllocAsync(&data, 12 * MIB, stream));
  HOLD_UP(stream);
  OK(cuMemFreeAsync(data, stream));
  EXPECT(cuMemAlloc(&large, 8 * MIB), OUT_OF_MEMORY);  // its free has not come about
  EXPECT(cuMemAllocAsync(&large, 8 * MIB, stream), OUT_OF_MEMORY);
  OK(cuMemAllocAsync(&large, 12 * MIB, stream));  // the same block
  EXPECT(large == data, 1);
  OK(cuMemPoolGetAttribute(pool, USED, &used));
  EXPECT(used, 12 * MIB);
  open_gate();
  OK(cuMemFreeAsync(large, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemPoolTrimTo(pool, 0));
  EXPECT(free_memory(), 16 * MIB);
  return 0;
}
