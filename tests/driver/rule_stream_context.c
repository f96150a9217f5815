// SPDX-License-Identifier: BSD-3-Clause
// The context of the default streams is the calling thread's current one; without one it is an
// error.
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL, found = NULL;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuStreamGetCtx, 9020, CUstream, CUcontext *);
  CUstream stream;
  OK(cuStreamCreate(&stream, 0));
  OK(cuCtxCreate(&second, 0, 0));
  for (uintptr_t token = 0; token <= 2; ++token) {
    OK(cuStreamGetCtx((CUstream)token, &found));
    EXPECT(found == second, 1);
  }
  OK(cuStreamGetCtx(stream, &found));
  EXPECT(found == first, 1);
  OK(cuCtxSetCurrent(NULL));
  OK(cuCtxSetCurrent(NULL));
  EXPECT(cuStreamGetCtx(LEGACY, &found), INVALID_CONTEXT);
  return 0;
}
