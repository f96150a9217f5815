// SPDX-License-Identifier: BSD-3-Clause
// Another stream that does not wait for the allocation may lose what it wrote.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  CUstream owner, other;
  CUdeviceptr data;
  unsigned char value = 0;
  MUST(cuStreamCreate(&owner, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, 1, owner));
  MUST(cuMemsetD8Async(data, 1, 1, other));
  MUST(cuStreamSynchronize(other));
  MUST(cuStreamSynchronize(owner));
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 0xCB);
  return 0;
}
