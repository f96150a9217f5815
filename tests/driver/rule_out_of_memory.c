// SPDX-License-Identifier: BSD-3-Clause
// Rule: What there is no room for is refused with OUT_OF_MEMORY, changes nothing, and leaves the
// context as good as before; memory freed in a stream is there for what comes later in it.
// Source: cuda.h, cuMemAlloc and cuMemAllocAsync
#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_DEVICE_MIB", "64", 1);  // simcuda fills what it allocates
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  USE(cuMemAllocPitch, 3020, CUdeviceptr *, size_t *, size_t, size_t, unsigned);
  size_t free = 0, now = 0, total = 0, pitch = 0;
  CUdeviceptr data = 42;
  unsigned char byte = 9;
  OK(cuMemGetInfo(&free, &total));
  EXPECT(cuMemAlloc(&data, 2 * total), OUT_OF_MEMORY);
  EXPECT(cuMemAllocPitch(&data, &pitch, total / 1024, 2048, 4), OUT_OF_MEMORY);
  EXPECT(cuMemAllocAsync(&data, 2 * total, LEGACY), OUT_OF_MEMORY);
  EXPECT(data, 42);
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemGetInfo(&now, &total));
  EXPECT(now, free);
  OK(cuMemAlloc(&data, 1));
  OK(cuMemcpyHtoD(data, &byte, 1));
  OK(cuMemFree(data));
  // Two thirds of it, again and again, with nothing to wait for in between.
  for (int i = 0; i < 5; ++i) {
    OK(cuMemAllocAsync(&data, free / 3 * 2 - (size_t)i, LEGACY));
    OK(cuMemFreeAsync(data, LEGACY));
  }
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemAlloc(&data, free / 3 * 2));
  OK(cuMemFree(data));
  return 0;
}
