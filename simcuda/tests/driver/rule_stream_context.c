// SPDX-License-Identifier: BSD-3-Clause
// Rule: The context of the default streams is the calling thread's current one; that of another
// stream is where it was made.
// Source: cuda.h, cuStreamGetCtx
#include "driver_test.h"

int main(void) {
  CUcontext first = start(), second = NULL, of_stream = NULL;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuStreamGetCtx, 9020, CUstream, CUcontext *);
  CUstream stream;
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuCtxCreate(&second, 0, 0));
  for (uintptr_t token = 0; token <= 2; ++token) {
    MUST(cuStreamGetCtx((CUstream)token, &of_stream));
    MUST_BE(of_stream == second, 1);
  }
  MUST(cuStreamGetCtx(stream, &of_stream));
  MUST_BE(of_stream == first, 1);
  return 0;
}
