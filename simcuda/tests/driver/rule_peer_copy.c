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
  MUST(cuMemAlloc(&here, 1));
  MUST(cuMemcpyHtoD(here, &value, 1));
  MUST(cuCtxSynchronize());  // a pageable copy may return before it is done; no stream of the other
                             // device waits for it
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemAlloc(&there, 1));
  MUST(cuPointerGetAttribute(&ordinal, 9, there));
  MUST_BE(ordinal, 1);
  MUST(cuPointerGetAttribute(&ordinal, 9, here));
  MUST_BE(ordinal, 0);
  MUST(cuMemcpyPeerAsync(there, second, here, first, 1, LEGACY));
  value = 0;
  MUST(cuMemcpyDtoH(&value, there, 1));
  MUST_BE(value, 4);
  return 0;
}
