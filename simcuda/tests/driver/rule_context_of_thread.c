// SPDX-License-Identifier: BSD-3-Clause
// Rule: Each thread has its own current context, and at first none; one context may be current in
// many.
// Source: cuda.h, cuCtxSetCurrent
#include "driver_test.h"

static CUcontext context;

static void *look(void *unused) {
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUcontext current = &current;
  MUST(cuCtxGetCurrent(&current));
  MUST_BE(current == NULL, 1);
  MUST(cuCtxSetCurrent(context));
  MUST(cuCtxGetCurrent(&current));
  MUST_BE(current == context, 1);
  return unused;
}

int main(void) {
  context = start();
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUcontext current = NULL;
  in_another_thread(look, NULL);
  MUST(cuCtxGetCurrent(&current));
  MUST_BE(current == context, 1);
  return 0;
}
