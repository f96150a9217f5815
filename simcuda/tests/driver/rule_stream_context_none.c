// SPDX-License-Identifier: BSD-3-Clause
// Rule: With no current context the default streams have none.
// Source: cuda.h, cuStreamGetCtx; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuStreamGetCtx, 9020, CUstream, CUcontext *);
  CUcontext of_stream = NULL;
  MUST(cuCtxSetCurrent(NULL));
  FOUND_STATUS("0", cuStreamGetCtx(NULL, &of_stream), INVALID_CONTEXT);
  FOUND_STATUS("1, legacy", cuStreamGetCtx(LEGACY, &of_stream), INVALID_CONTEXT);
  FOUND_STATUS("2, per thread", cuStreamGetCtx(PER_THREAD, &of_stream), INVALID_CONTEXT);
  return 0;
}
