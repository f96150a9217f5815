// SPDX-License-Identifier: BSD-3-Clause
// Work runs by itself once no call has come for the quiet time: a client that waits for something
// other than the driver does not wait forever.
#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_QUIET_MS", "20", 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  CUstream stream;
  volatile unsigned char *host;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemHostAlloc((void **)&host, 1, 2));
  *host = 1;
  MUST(cuMemsetD8Async((CUdeviceptr)(uintptr_t)host, 2, 1, stream));
  MUST_BE(*host, 1);
  while (*host != 2) usleep(1000);  // the test's time limit is the failure
  return 0;
}
