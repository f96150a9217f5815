// SPDX-License-Identifier: BSD-3-Clause
// Handles of destroyed things are refused, and do not recur unless asked for.
#include "driver_test.h"

int main(int argc, char **argv) {
  const int reuse = argc > 1 && strcmp(argv[1], "reuse") == 0;
  if (reuse) setenv("SIMCUDA_REUSE_HANDLES", "1", 1);
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  CUstream first, second;
  CUevent event;
  unsigned long long one, two;
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamCreate(&first, 0));
  MUST(cuStreamGetId(first, &one));
  MUST(cuStreamDestroy(first));
  MUST_BE(cuStreamQuery(first), INVALID_HANDLE);
  MUST_BE(cuStreamDestroy(first), INVALID_HANDLE);
  MUST(cuStreamCreate(&second, 0));
  MUST(cuStreamGetId(second, &two));
  MUST_BE(first == second, reuse);
  MUST_BE(one != two, 1);  // ids never recur
  return 0;
}
