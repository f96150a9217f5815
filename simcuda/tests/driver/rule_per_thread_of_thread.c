// SPDX-License-Identifier: BSD-3-Clause
// Rule: Stream 2 is another stream in every thread.
// Source: cuda.h, CU_STREAM_PER_THREAD
#include "driver_test.h"

static CUcontext context;

static void *look(void *id) {
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  MUST(cuCtxSetCurrent(context));
  MUST(cuStreamGetId(PER_THREAD, id));
  return NULL;
}

int main(void) {
  context = start();
  unsigned long long mine = 0, again = 1, other = 0;
  look(&mine);
  look(&again);
  in_another_thread(look, &other);
  MUST_BE(mine == again, 1);
  MUST_BE(mine != other, 1);
  return 0;
}
