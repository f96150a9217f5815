// SPDX-License-Identifier: BSD-3-Clause
// Memset and device-to-device copies return before they are done, in their blocking forms, too;
// memset of host memory does not.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuMemcpyDtoD, 3020, CUdeviceptr, CUdeviceptr, size_t);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuCtxSynchronize, 2000, void);
  USE_SIM(uint64_t, simcuda_pending, void);
  CUdeviceptr data;
  unsigned char *host;
  MUST(cuMemAlloc(&data, 2));
  MUST(cuMemsetD8(data, 1, 1));
  MUST_BE(simcuda_pending(), 1);
  MUST(cuMemcpyDtoD(data + 1, data, 1));
  MUST_BE(simcuda_pending(), 2);
  MUST(cuCtxSynchronize());
  MUST_BE(simcuda_pending(), 0);
  MUST(cuMemHostAlloc((void **)&host, 1, 2));
  MUST(cuMemsetD8((CUdeviceptr)(uintptr_t)host, 7, 1));
  MUST_BE(*host, 7);
  return 0;
}
