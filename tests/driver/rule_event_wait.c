// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event recorded in one stream and waited for in another orders them.
// Source: cuda.h, cuStreamWaitEvent and cuEventDestroy
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUstream producer, consumer;
  CUevent event;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 2, 1, producer));
  OK(cuEventRecord(event, producer));
  OK(cuStreamWaitEvent(consumer, event, 0));
  OK(cuEventDestroy(event));  // the wait has what it needs
  OK(cuMemcpyDtoDAsync(copy, data, 1, consumer));
  OK(cuStreamSynchronize(consumer));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 2);
  return 0;
}
