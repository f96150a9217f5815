// SPDX-License-Identifier: BSD-3-Clause
// Rule: To retain the primary context does not make it current.
// Source: cuda.h, cuDevicePrimaryCtxRetain
#include "driver_test.h"

int main(void) {
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUcontext primary, current = &primary;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&primary, 0));
  MUST(cuCtxGetCurrent(&current));
  MUST_BE(current == NULL, 1);
  return 0;
}
