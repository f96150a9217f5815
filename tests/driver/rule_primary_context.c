// SPDX-License-Identifier: BSD-3-Clause
// The primary context: retained and released in pairs, never made current by that, the same handle
// for all; one release too many is an error.
#include "driver_test.h"

int main(void) {
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 11000, CUdevice);
  USE(cuDevicePrimaryCtxGetState, 7000, CUdevice, unsigned *, int *);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUcontext first, second, current = &first;
  unsigned flags;
  int active = -1;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active, 0);
  OK(cuDevicePrimaryCtxRetain(&first, 0));
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT(first == second, 1);
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == NULL, 1);
  OK(cuDevicePrimaryCtxRelease(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active, 1);
  OK(cuDevicePrimaryCtxRelease(0));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(active, 0);
  EXPECT(cuDevicePrimaryCtxRelease(0), INVALID_CONTEXT);
  return 0;
}
