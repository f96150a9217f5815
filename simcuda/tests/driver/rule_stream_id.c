// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream's id is never given to another stream, though its handle may be.
// Source: cuda.h, cuStreamGetId
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  unsigned long long ids[4] = {0};
  for (int i = 0; i < 4; ++i) {
    CUstream stream;
    MUST(cuStreamCreate(&stream, NON_BLOCKING));
    MUST(cuStreamGetId(stream, &ids[i]));
    MUST(cuStreamDestroy(stream));
    for (int k = 0; k < i; ++k) MUST_BE(ids[k] != ids[i], 1);
  }
  return 0;
}
