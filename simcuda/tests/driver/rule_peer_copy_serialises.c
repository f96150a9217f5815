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
  MUST(cuMemAlloc(&here, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemAlloc(&there, 1));
  MUST(cuMemsetD8Async(here, 4, 1, stream));
  MUST(cuMemcpyPeer(there, second, here, first, 1));
  MUST(cuMemsetD8Async(here, 5, 1, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, there, 1));
  MUST_BE(value, 4);
  return 0;
}
