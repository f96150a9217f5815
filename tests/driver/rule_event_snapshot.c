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
  OK(cuStreamCreate(&a, NON_BLOCKING));
  OK(cuStreamCreate(&b, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuEventCreate(&back, 2));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, a));
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  OK(cuMemcpyDtoDAsync(copy, data, 1, b));
  OK(cuEventRecord(back, b));
  OK(cuStreamWaitEvent(a, back, 0));
  OK(cuMemsetD8Async(data, 2, 1, a));
  OK(cuEventRecord(event, a));
  OK(cuEventSynchronize(event));
  OK(cuStreamSynchronize(b));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
