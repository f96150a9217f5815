// SPDX-License-Identifier: BSD-3-Clause
// Rule: Pool memory is used and freed on any stream that waits for its allocation.
// Source: cuda.h, cuMemAllocAsync and cuMemFreeAsync
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUstream one, other;
  CUevent event;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemAllocAsync(&data, 64, one));
  OK(cuEventRecord(event, one));
  OK(cuStreamWaitEvent(other, event, 0));
  OK(cuMemsetD8Async(data, 6, 64, other));
  OK(cuMemcpyDtoDAsync(copy, data + 63, 1, other));
  OK(cuMemFreeAsync(data, other));
  OK(cuStreamSynchronize(other));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 6);
  return 0;
}
