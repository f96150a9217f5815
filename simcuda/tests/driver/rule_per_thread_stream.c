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
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 1, 1, PER_THREAD));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, LEGACY));
  MUST(cuMemsetD8Async(data, 2, 1, PER_THREAD));
  MUST(cuStreamSynchronize(PER_THREAD));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  return 0;
}
