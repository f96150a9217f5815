// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream of another context waits for an event as one of its own does.
// Source: cuda.h, cuStreamWaitEvent
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  CUcontext second;
  CUstream here, there;
  CUevent event;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuStreamCreate(&here, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemsetD8Async(data, 3, 1, here));
  OK(cuEventRecord(event, here));
  OK(cuCtxCreate(&second, 0, 0));
  OK(cuStreamCreate(&there, NON_BLOCKING));
  OK(cuMemAlloc(&copy, 1));
  OK(cuStreamWaitEvent(there, event, 0));
  OK(cuMemcpyDtoDAsync(copy, data, 1, there));
  OK(cuStreamSynchronize(there));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 3);
  return 0;
}
