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
  OK(cuStreamCreate(&blocking, 0));
  OK(cuStreamCreate(&non_blocking, NON_BLOCKING));
  OK(cuStreamGetFlags(blocking, &flags));
  EXPECT(flags, 0);
  OK(cuStreamGetFlags(non_blocking, &flags));
  EXPECT(flags, NON_BLOCKING);
  OK(cuStreamGetFlags(LEGACY, &flags));
  EXPECT(flags, 0);
  return 0;
}
