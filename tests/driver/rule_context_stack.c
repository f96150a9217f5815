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
  OK(cuCtxCreate(&second, 0, 0));  // pushes it
  OK(cuCtxGetCurrent(&found));
  EXPECT(found == second, 1);
  OK(cuCtxPushCurrent(first));
  OK(cuCtxSetCurrent(second));
  OK(cuCtxPopCurrent(&found));
  EXPECT(found == second, 1);
  OK(cuCtxDestroy(second));  // current: popped as well
  OK(cuCtxGetCurrent(&found));
  EXPECT(found == first, 1);
  OK(cuCtxPopCurrent(&found));
  EXPECT(found == first, 1);
  EXPECT(cuCtxPopCurrent(&found), INVALID_CONTEXT);
  return 0;
}
