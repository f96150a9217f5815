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
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemcpyHtoD(data, &one, 1));
  MUST(cuMemsetD8Async(copy, 0, 1, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemsetD8Async(data, 2, 1, other));
  MUST(cuMemcpyDtoH(&value, data, 1));  // on the legacy stream
  MUST_BE(value, 1);
  MUST(cuMemsetD8Async(data, 3, 1, LEGACY));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, other));
  MUST(cuStreamSynchronize(other));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 2);
  return 0;
}
