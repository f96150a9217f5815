// SPDX-License-Identifier: BSD-3-Clause
// Rule: A context's id is never given to another, though its handle may be.
// Source: cuda.h, cuCtxGetId
#include "driver_test.h"

int main(void) {
  start();
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxGetId, 12000, CUcontext, unsigned long long *);
  unsigned long long last = 0;
  for (int i = 0; i < 3; ++i) {
    CUcontext context;
    unsigned long long id = 0;
    MUST(cuCtxCreate(&context, 0, 0));
    MUST(cuCtxGetId(context, &id));
    MUST_BE(id > last, 1);
    last = id;
    MUST(cuCtxDestroy(context));
  }
  return 0;
}
