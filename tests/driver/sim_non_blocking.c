// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking streams are outside the legacy stream's rules, in both directions.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUstream other;
  CUdeviceptr data, copy;
  unsigned char value = 0, one = 1;
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemcpyHtoD(data, &one, 1));
  OK(cuMemsetD8Async(copy, 0, 1, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemsetD8Async(data, 2, 1, other));
  OK(cuMemcpyDtoH(&value, data, 1));  // on the legacy stream
  EXPECT(value, 1);
  OK(cuMemsetD8Async(data, 3, 1, LEGACY));
  OK(cuMemcpyDtoDAsync(copy, data, 1, other));
  OK(cuStreamSynchronize(other));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 2);
  return 0;
}
