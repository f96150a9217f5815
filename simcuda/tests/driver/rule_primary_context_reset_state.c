// SPDX-License-Identifier: BSD-3-Clause
// Rule: After a reset the primary context is not active, though its holders have not released it.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  const CUcontext before = start();
  USE(cuDevicePrimaryCtxReset, 11000, CUdevice);
  USE(cuDevicePrimaryCtxGetState, 7000, CUdevice, unsigned *, int *);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 11000, CUdevice);
  unsigned flags = 0;
  int active = -1;
  CUcontext after = NULL;
  FOUND_STATUS("reset", cuDevicePrimaryCtxReset(0), SUCCESS);
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  FOUND("active after reset", active, 0);
  FOUND_STATUS("retain after reset", cuDevicePrimaryCtxRetain(&after, 0), SUCCESS);
  FOUND("the handle is the same", after == before, 1);
  FOUND_STATUS("release of the second retain", cuDevicePrimaryCtxRelease(0), SUCCESS);
  FOUND_STATUS("release of the first", cuDevicePrimaryCtxRelease(0), SUCCESS);
  FOUND_STATUS("one release more", cuDevicePrimaryCtxRelease(0), INVALID_CONTEXT);
  return 0;
}
