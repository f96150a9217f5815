// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuMemcpyPeer is ordered after all the work of both contexts, and before what comes next
// there.
// Source: cuda.h, cuMemcpyPeer
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL;
  need_two_devices();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuMemcpyPeer, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
  CUstream stream;
  CUdeviceptr here, there;
  unsigned char value = 0;
  OK(cuMemAlloc(&here, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  OK(cuMemAlloc(&there, 1));
  OK(cuMemsetD8Async(here, 4, 1, stream));
  OK(cuMemcpyPeer(there, second, here, first, 1));
  OK(cuMemsetD8Async(here, 5, 1, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, there, 1));
  EXPECT(value, 4);
  return 0;
}
