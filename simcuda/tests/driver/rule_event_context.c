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
  MUST(cuStreamCreate(&here, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 3, 1, here));
  MUST(cuEventRecord(event, here));
  MUST(cuCtxCreate(&second, 0, 0));
  MUST(cuStreamCreate(&there, NON_BLOCKING));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuStreamWaitEvent(there, event, 0));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, there));
  MUST(cuStreamSynchronize(there));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 3);
  return 0;
}
