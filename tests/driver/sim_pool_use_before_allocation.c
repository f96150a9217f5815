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
  OK(cuStreamCreate(&owner, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuMemAllocAsync(&data, 1, owner));
  OK(cuMemsetD8Async(data, 1, 1, other));
  OK(cuStreamSynchronize(other));
  OK(cuStreamSynchronize(owner));
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 0xCB);
  return 0;
}
