// SPDX-License-Identifier: BSD-3-Clause
// Rule: What there is no room for is refused with OUT_OF_MEMORY, and leaves the context as good as
// before; memory freed in a stream is there for what comes later in it.
// Source: cuda.h, cuMemAlloc and cuMemAllocAsync; the address is to be checked on a GPU
#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_DEVICE_MIB", "64", 1);  // simcuda fills what it allocates
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  USE(cuMemAllocPitch, 3020, CUdeviceptr *, size_t *, size_t, size_t, unsigned);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  size_t free = 0, now = 0, total = 0, pitch = 0;
  const size_t far_too_much = (size_t)1 << 62;
  CUdeviceptr data = 42;
  void *host = &host;
  unsigned char byte = 9;
  MUST(cuMemGetInfo(&free, &total));
  MUST_BE(cuMemAlloc(&data, 2 * total), OUT_OF_MEMORY);
  FOUND("cuMemAlloc: the address is 0 then", data == 0, 1);
  data = 42;
  MUST_BE(cuMemAllocPitch(&data, &pitch, total / 1024, 2048, 4), OUT_OF_MEMORY);
  FOUND("cuMemAllocPitch: the address is 0 then", data == 0, 1);
  data = 42;
  MUST_BE(cuMemAllocAsync(&data, 2 * total, LEGACY), OUT_OF_MEMORY);
  FOUND("cuMemAllocAsync: the address is 0 then", data == 0, 1);
  data = 42;
  MUST_BE(cuMemAllocManaged(&data, far_too_much, 1), OUT_OF_MEMORY);
  FOUND("cuMemAllocManaged: the address is 0 then", data == 0, 1);
  MUST_BE(cuMemHostAlloc(&host, far_too_much, 0), OUT_OF_MEMORY);
  FOUND("cuMemHostAlloc: the address is null then", host == NULL, 1);
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemGetInfo(&now, &total));
  MUST_HOLD(now > free / 2);  // whatever others do meanwhile
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemcpyHtoD(data, &byte, 1));
  MUST(cuMemFree(data));
  // Two thirds of it, again and again, with nothing to wait for in between.
  for (int i = 0; i < 5; ++i) {
    MUST(cuMemAllocAsync(&data, free / 3 * 2 - (size_t)i, LEGACY));
    MUST(cuMemFreeAsync(data, LEGACY));
  }
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemAlloc(&data, free / 3 * 2));
  MUST(cuMemFree(data));
  return 0;
}
