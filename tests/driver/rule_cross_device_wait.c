// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream of one device waits for an event of another.
// Source: cuda.h, cuStreamWaitEvent
#include "driver_test.h"

int main(void) {
  start();
  need_two_devices();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUcontext second = NULL;
  CUstream producer, consumer;
  CUevent event;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  OK(cuMemAlloc(&copy, 1));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuMemsetD8Async(data, 6, 1, producer));
  OK(cuEventRecord(event, producer));
  OK(cuStreamWaitEvent(consumer, event, 0));
  OK(cuMemcpyDtoDAsync(copy, data, 1, consumer));
  OK(cuStreamSynchronize(consumer));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 6);
  return 0;
}
