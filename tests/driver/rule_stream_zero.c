// SPDX-License-Identifier: BSD-3-Clause
// Rule: In the legacy flavour stream 0 is the legacy stream.
// Source: cuda.h, CU_STREAM_LEGACY
#include "driver_test.h"

int main(void) {
  start();
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  unsigned long long zero = 0, legacy = 1, per_thread = 0;
  OK(cuStreamGetId(NULL, &zero));
  OK(cuStreamGetId(LEGACY, &legacy));
  OK(cuStreamGetId(PER_THREAD, &per_thread));
  EXPECT(zero == legacy, 1);
  EXPECT(zero != per_thread, 1);
  return 0;
}
