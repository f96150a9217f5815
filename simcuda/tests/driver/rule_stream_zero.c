// SPDX-License-Identifier: BSD-3-Clause
// Rule: In the legacy flavour stream 0 is the legacy stream.
// Source: cuda.h, CU_STREAM_LEGACY
#include "driver_test.h"

int main(void) {
  start();
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  unsigned long long zero = 0, legacy = 1, per_thread = 0;
  MUST(cuStreamGetId(NULL, &zero));
  MUST(cuStreamGetId(LEGACY, &legacy));
  MUST(cuStreamGetId(PER_THREAD, &per_thread));
  MUST_BE(zero == legacy, 1);
  MUST_BE(zero != per_thread, 1);
  return 0;
}
