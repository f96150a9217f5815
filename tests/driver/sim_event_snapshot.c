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
  OK(cuStreamCreate(&a, NON_BLOCKING));
  OK(cuStreamCreate(&b, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, a));
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  OK(cuMemsetD8Async(data, 2, 1, a));
  OK(cuEventRecord(event, a));
  OK(cuMemcpyDtoDAsync(copy, data, 1, b));
  OK(cuStreamSynchronize(b));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
