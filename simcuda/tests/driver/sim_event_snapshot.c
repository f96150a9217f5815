// SPDX-License-Identifier: BSD-3-Clause
// What came after the record is not waited for, though the event was recorded again meanwhile.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUstream a, b;
  CUevent event;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 1, 1, a));
  MUST(cuEventRecord(event, a));
  MUST(cuStreamWaitEvent(b, event, 0));
  MUST(cuMemsetD8Async(data, 2, 1, a));
  MUST(cuEventRecord(event, a));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, b));
  MUST(cuStreamSynchronize(b));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  return 0;
}
