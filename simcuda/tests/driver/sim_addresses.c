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
    MUST(cuMemAlloc(&data, SIZE));
    again += data == first;
    if (i == 0) first = data;
    MUST_BE(again == 0 || i > 10, 1);
    MUST(cuMemFree(data));
    MUST(cuMemHostAlloc(&host, SIZE, WRITE_COMBINED));
    MUST(cuMemFreeHost(host));
    MUST(cuMemHostRegister(mine, SIZE, 0));
    MUST(cuMemHostUnregister(mine));
    MUST(cuMemAllocAsync(&data, SIZE + (size_t)i * 4096, LEGACY));  // a size of its own each time
    MUST(cuMemFreeAsync(data, LEGACY));
    MUST(cuStreamSynchronize(LEGACY));
    if (i % 10 == 9) {
      CUmemoryPool pool;
      USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
      MUST(cuDeviceGetDefaultMemPool(&pool, 0));
      MUST(cuMemPoolTrimTo(pool, 0));
    }
  }
  MUST_BE(again > 0, 1);
  // Blocks in what was used before are whole, and apart.
  for (int i = 0; i < BLOCKS; ++i) {
    unsigned char byte = (unsigned char)i;
    MUST(cuMemAlloc(&blocks[i], SIZE / 3 * 2));
    MUST(cuMemsetD8Async(blocks[i], byte, SIZE / 3 * 2, LEGACY));
  }
  for (int i = 0; i < BLOCKS; ++i) {
    unsigned char ends[2];
    MUST(cuMemcpyDtoH(&ends[0], blocks[i], 1));
    MUST(cuMemcpyDtoH(&ends[1], blocks[i] + SIZE / 3 * 2 - 1, 1));
    MUST_BE(ends[0], i);
    MUST_BE(ends[1], i);
    MUST(cuMemFree(blocks[i]));
    MUST_BE(cuMemcpyDtoH(ends, blocks[i], 1), INVALID_VALUE);
  }
  return 0;
}
