// SPDX-License-Identifier: BSD-3-Clause
// Rule: A wait takes the event's state at the time of its call: recording the event again, even
// after work that waits for the waiter, changes nothing and cannot form a cycle.
// Source: cuda.h, cuEventRecord
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUstream a, b;
  CUevent event, back;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventCreate(&back, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 1, 1, a));
  MUST(cuEventRecord(event, a));
  MUST(cuStreamWaitEvent(b, event, 0));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, b));
  MUST(cuEventRecord(back, b));
  MUST(cuStreamWaitEvent(a, back, 0));
  MUST(cuMemsetD8Async(data, 2, 1, a));
  MUST(cuEventRecord(event, a));
  MUST(cuEventSynchronize(event));
  MUST(cuStreamSynchronize(b));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  return 0;
}
