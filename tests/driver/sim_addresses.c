// SPDX-License-Identifier: BSD-3-Clause
// Addresses do not recur while there are others; once there are none, those of freed memory do.
#include "driver_test.h"

int main(void) {
  setenv("LD_PRELOAD", "vgpreload", 1);  // as under valgrind: with little address space
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  enum { SIZE = 32 << 20, TIMES = 36, WRITE_COMBINED = 4, BLOCKS = 4 };
  static char mine[SIZE];
  CUdeviceptr data, first = 0, blocks[BLOCKS];
  void *host;
  int again = 0;
  for (int i = 0; i < TIMES; ++i) {
    OK(cuMemAlloc(&data, SIZE));
    again += data == first;
    if (i == 0) first = data;
    EXPECT(again == 0 || i > 10, 1);
    OK(cuMemFree(data));
    OK(cuMemHostAlloc(&host, SIZE, WRITE_COMBINED));
    OK(cuMemFreeHost(host));
    OK(cuMemHostRegister(mine, SIZE, 0));
    OK(cuMemHostUnregister(mine));
    OK(cuMemAllocAsync(&data, SIZE + (size_t)i * 4096, LEGACY));  // a size of its own each time
    OK(cuMemFreeAsync(data, LEGACY));
    OK(cuStreamSynchronize(LEGACY));
    if (i % 10 == 9) {
      CUmemoryPool pool;
      USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
      OK(cuDeviceGetDefaultMemPool(&pool, 0));
      OK(cuMemPoolTrimTo(pool, 0));
    }
  }
  EXPECT(again > 0, 1);
  // Blocks in what was used before are whole, and apart.
  for (int i = 0; i < BLOCKS; ++i) {
    unsigned char byte = (unsigned char)i;
    OK(cuMemAlloc(&blocks[i], SIZE / 3 * 2));
    OK(cuMemsetD8Async(blocks[i], byte, SIZE / 3 * 2, LEGACY));
  }
  for (int i = 0; i < BLOCKS; ++i) {
    unsigned char ends[2];
    OK(cuMemcpyDtoH(&ends[0], blocks[i], 1));
    OK(cuMemcpyDtoH(&ends[1], blocks[i] + SIZE / 3 * 2 - 1, 1));
    EXPECT(ends[0], i);
    EXPECT(ends[1], i);
    OK(cuMemFree(blocks[i]));
    EXPECT(cuMemcpyDtoH(ends, blocks[i], 1), INVALID_VALUE);
  }
  return 0;
}
