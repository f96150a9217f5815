// SPDX-License-Identifier: BSD-3-Clause
// cuMemFree of ordinary memory waits for the work that uses it.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUstream stream;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuMemcpyDtoDAsync(copy, data, 1, stream));
  OK(cuMemFree(data));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
