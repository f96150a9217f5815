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
  OK(cuStreamCreate(&blocking, 0));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, blocking));
  OK(cuMemcpyDtoDAsync(copy, data, 1, LEGACY));  // after the memset
  OK(cuMemsetD8Async(data, 2, 1, blocking));     // after the copy
  OK(cuStreamSynchronize(blocking));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 2);
  return 0;
}
