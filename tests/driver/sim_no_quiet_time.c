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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemsetD8Async(data, 2, 1, stream));
  usleep(100000);
  EXPECT(simcuda_pending(), 1);
  OK(cuStreamDestroy(stream));  // forces nothing, either
  EXPECT(simcuda_pending(), 1);
  return 0;
}
