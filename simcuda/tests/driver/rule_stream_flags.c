// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream tells the flags that it was made with; the legacy stream has none.
// Source: cuda.h, cuStreamGetFlags
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE(cuStreamGetFlags, 5050, CUstream, unsigned *);
  CUstream blocking, non_blocking;
  unsigned flags = 99;
  MUST(cuStreamCreate(&blocking, 0));
  MUST(cuStreamCreate(&non_blocking, NON_BLOCKING));
  MUST(cuStreamGetFlags(blocking, &flags));
  MUST_BE(flags, 0);
  MUST(cuStreamGetFlags(non_blocking, &flags));
  MUST_BE(flags, NON_BLOCKING);
  MUST(cuStreamGetFlags(LEGACY, &flags));
  MUST_BE(flags, 0);
  return 0;
}
