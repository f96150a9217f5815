// SPDX-License-Identifier: BSD-3-Clause
// Rule: A blocking memset of pinned or managed memory is done when it returns.
// Source: CUDA driver API manual, API synchronization behavior
#include "driver_test.h"

int main(void) {
  start();
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  unsigned char *host;
  CUdeviceptr device, managed;
  MUST(cuMemHostAlloc((void **)&host, 64, 2));
  MUST(cuMemHostGetDevicePointer(&device, host, 0));
  MUST(cuMemsetD8(device, 4, 64));
  MUST_BE(host[63], 4);
  MUST(cuMemAllocManaged(&managed, 64, 1));
  MUST(cuMemsetD8(managed, 5, 64));
  MUST_BE(((unsigned char *)(uintptr_t)managed)[63], 5);
  return 0;
}
