// SPDX-License-Identifier: BSD-3-Clause
// Rule: Contexts are pushed and popped on a stack of the thread; setting one replaces the top.
// Source: cuda.h, cuCtxPushCurrent and cuCtxSetCurrent
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL, found = NULL;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxPushCurrent, 4000, CUcontext);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  MUST(cuCtxCreate(&second, 0, 0));  // pushes it
  MUST(cuCtxGetCurrent(&found));
  MUST_BE(found == second, 1);
  MUST(cuCtxPushCurrent(first));
  MUST(cuCtxSetCurrent(second));
  MUST(cuCtxPopCurrent(&found));
  MUST_BE(found == second, 1);
  MUST(cuCtxDestroy(second));  // current: popped as well
  MUST(cuCtxGetCurrent(&found));
  MUST_BE(found == first, 1);
  MUST(cuCtxPopCurrent(&found));
  MUST_BE(found == first, 1);
  MUST_BE(cuCtxPopCurrent(&found), INVALID_CONTEXT);
  return 0;
}
