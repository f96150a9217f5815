// SPDX-License-Identifier: BSD-3-Clause
// To synchronise the legacy stream is to wait for the blocking streams of its context, too.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  CUstream blocking;
  unsigned char *host;
  CUdeviceptr device;
  OK(cuStreamCreate(&blocking, 0));
  OK(cuMemHostAlloc((void **)&host, 1, 2));
  OK(cuMemHostGetDevicePointer(&device, host, 0));
  *host = 1;
  OK(cuMemsetD8Async(device, 2, 1, blocking));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(*host, 2);
  return 0;
}
