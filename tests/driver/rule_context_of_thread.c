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
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == NULL, 1);
  OK(cuCtxSetCurrent(context));
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == context, 1);
  return unused;
}

int main(void) {
  context = start();
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUcontext current = NULL;
  in_another_thread(look, NULL);
  OK(cuCtxGetCurrent(&current));
  EXPECT(current == context, 1);
  return 0;
}
