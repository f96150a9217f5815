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
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemAllocAsync(&data, 64, one));
  MUST(cuEventRecord(event, one));
  MUST(cuStreamWaitEvent(other, event, 0));
  MUST(cuMemsetD8Async(data, 6, 64, other));
  MUST(cuMemcpyDtoDAsync(copy, data + 63, 1, other));
  MUST(cuMemFreeAsync(data, other));
  MUST(cuStreamSynchronize(other));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 6);
  return 0;
}
