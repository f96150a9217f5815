// SPDX-License-Identifier: BSD-3-Clause
// Rule: A query says NOT_READY while work is pending and never waits for it.
// Source: cuda.h, cuStreamQuery
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_GATE;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamQuery(stream));
  HOLD_UP(stream);
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamQuery(stream));
  return 0;
}
