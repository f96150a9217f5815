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
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  MUST_BE(active, 0);
  MUST(cuDevicePrimaryCtxRetain(&first, 0));
  MUST(cuDevicePrimaryCtxRetain(&second, 0));
  MUST_BE(first == second, 1);
  MUST(cuDevicePrimaryCtxRelease(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  MUST_BE(active, 1);
  MUST(cuDevicePrimaryCtxRelease(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  MUST_BE(active, 0);
  MUST_BE(cuDevicePrimaryCtxRelease(0), INVALID_CONTEXT);
  return 0;
}
