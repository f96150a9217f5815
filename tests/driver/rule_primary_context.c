// SPDX-License-Identifier: BSD-3-Clause
// Rule: The primary context is retained and released in pairs and is one for all; one release too
// many is an error.
// Source: cuda.h, cuDevicePrimaryCtxRetain and cuDevicePrimaryCtxRelease
#include "driver_test.h"

int main(void) {
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 11000, CUdevice);
  USE(cuDevicePrimaryCtxGetState, 7000, CUdevice, unsigned *, int *);
  CUcontext first, second;
  unsigned flags;
  int active = -1;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active, 0);
  OK(cuDevicePrimaryCtxRetain(&first, 0));
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT(first == second, 1);
  OK(cuDevicePrimaryCtxRelease(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active, 1);
  OK(cuDevicePrimaryCtxRelease(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active, 0);
  EXPECT(cuDevicePrimaryCtxRelease(0), INVALID_CONTEXT);
  return 0;
}
