// SPDX-License-Identifier: BSD-3-Clause
// Rule: The memory of two devices has distinct addresses, and a copy between them works.
// Source: cuda.h, cuMemcpyPeerAsync
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL;
  need_two_devices();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemcpyPeerAsync, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  int ordinal = -1;
  CUdeviceptr here, there;
  unsigned char value = 4;
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
