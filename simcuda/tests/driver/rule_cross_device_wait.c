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
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  MUST(cuMemsetD8Async(data, 6, 1, producer));
  MUST(cuEventRecord(event, producer));
  MUST(cuStreamWaitEvent(consumer, event, 0));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, consumer));
  MUST(cuStreamSynchronize(consumer));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 6);
  return 0;
}
