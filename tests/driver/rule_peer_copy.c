// SPDX-License-Identifier: BSD-3-Clause
// Two devices: their memory has distinct addresses, and a copy between them works. Exit 77: one
// only.
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL;
  USE_MEMORY;
  USE_STREAMS;
  USE(cuDeviceGetCount, 2000, int *);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemcpyPeerAsync, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  int count = 0, ordinal = -1;
  CUdeviceptr here, there;
  unsigned char value = 4;
  OK(cuDeviceGetCount(&count));
  if (count < 2) return 77;
  OK(cuMemAlloc(&here, 1));
  OK(cuMemcpyHtoD(here, &value, 1));
  OK(cuCtxSynchronize());  // a pageable copy may return before it is done; no stream of the other
                           // device waits for it
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  OK(cuMemAlloc(&there, 1));
  OK(cuPointerGetAttribute(&ordinal, 9, there));
  EXPECT(ordinal, 1);
  OK(cuPointerGetAttribute(&ordinal, 9, here));
  EXPECT(ordinal, 0);
  OK(cuMemcpyPeerAsync(there, second, here, first, 1, LEGACY));
  value = 0;
  OK(cuMemcpyDtoH(&value, there, 1));
  EXPECT(value, 4);
  return 0;
}
