// SPDX-License-Identifier: BSD-3-Clause
// With a quiet time of 0 nothing moves by itself.
#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_QUIET_MS", "0", 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_SIM(uint64_t, simcuda_pending, void);
  CUstream stream;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 2, 1, stream));
  usleep(100000);
  MUST_BE(simcuda_pending(), 1);
  MUST(cuStreamDestroy(stream));  // forces nothing, either
  MUST_BE(simcuda_pending(), 1);
  return 0;
}
