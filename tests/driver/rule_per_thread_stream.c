// SPDX-License-Identifier: BSD-3-Clause
// Rule: The per-thread stream is a blocking stream: the legacy stream orders it, both ways.
// Source: CUDA driver API manual, Stream synchronization behavior
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, PER_THREAD));
  OK(cuMemcpyDtoDAsync(copy, data, 1, LEGACY));
  OK(cuMemsetD8Async(data, 2, 1, PER_THREAD));
  OK(cuStreamSynchronize(PER_THREAD));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
