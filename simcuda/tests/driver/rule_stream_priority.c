// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream's priority is the nearest to the wished one that the device has.
// Source: cuda.h, cuStreamCreateWithPriority and cuCtxGetStreamPriorityRange
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE(cuCtxGetStreamPriorityRange, 5050, int *, int *);
  USE(cuStreamCreateWithPriority, 5050, CUstream *, unsigned, int);
  USE(cuStreamGetPriority, 5050, CUstream, int *);
  USE(cuStreamGetFlags, 5050, CUstream, unsigned *);
  int least = -1, greatest = 1, priority = 77;
  unsigned flags = 77;
  CUstream stream;
  MUST(cuCtxGetStreamPriorityRange(&least, &greatest));
  MUST_BE(greatest <= least, 1);
  const int wished[] = {least, greatest, least + 10, greatest - 10};
  const int given[] = {least, greatest, least, greatest};
  for (int i = 0; i < 4; ++i) {
    MUST(cuStreamCreateWithPriority(&stream, NON_BLOCKING, wished[i]));
    MUST(cuStreamGetPriority(stream, &priority));
    MUST_BE(priority, given[i]);
    MUST(cuStreamGetFlags(stream, &flags));
    MUST_BE(flags, NON_BLOCKING);
    MUST(cuStreamDestroy(stream));
  }
  return 0;
}
