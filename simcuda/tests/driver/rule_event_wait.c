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
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 2, 1, producer));
  MUST(cuEventRecord(event, producer));
  MUST(cuStreamWaitEvent(consumer, event, 0));
  MUST(cuEventDestroy(event));  // the wait has what it needs
  MUST(cuMemcpyDtoDAsync(copy, data, 1, consumer));
  MUST(cuStreamSynchronize(consumer));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 2);
  return 0;
}
