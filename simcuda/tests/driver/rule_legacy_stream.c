// SPDX-License-Identifier: BSD-3-Clause
// Rule: The legacy stream and a blocking stream of its context wait for each other, both ways.
// Source: CUDA driver API manual, Stream synchronization behavior
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUstream blocking;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  MUST(cuStreamCreate(&blocking, 0));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 1, 1, blocking));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, LEGACY));  // after the memset
  MUST(cuMemsetD8Async(data, 2, 1, blocking));     // after the copy
  MUST(cuStreamSynchronize(blocking));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 2);
  return 0;
}
