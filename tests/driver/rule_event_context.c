// SPDX-License-Identifier: BSD-3-Clause
// An event is recorded only in a stream of its own context; it is waited for anywhere.
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL, popped;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  CUstream here, there;
  CUevent event;
  OK(cuStreamCreate(&here, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuCtxCreate(&second, 0, 0));
  OK(cuStreamCreate(&there, NON_BLOCKING));
  EXPECT(cuEventRecord(event, there), INVALID_HANDLE);
  OK(cuEventRecord(event, here));
  OK(cuStreamWaitEvent(there, event, 0));
  OK(cuStreamSynchronize(there));
  OK(cuCtxPopCurrent(&popped));
  EXPECT(popped == second && first != second, 1);
  return 0;
}
