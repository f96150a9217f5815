// SPDX-License-Identifier: BSD-3-Clause
// Handles of destroyed things are refused, and do not recur unless asked for. Using one is a
// finding: a real driver crashes.
#include "driver_test.h"

int main(int argc, char **argv) {
  const int reuse = argc > 1 && strcmp(argv[1], "reuse") == 0;
  if (reuse) setenv("SIMCUDA_REUSE_HANDLES", "1", 1);
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  USE_SIM(uint64_t, simcuda_findings, void);
  CUstream first, second;
  CUevent event;
  unsigned long long one, two;
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamCreate(&first, 0));
  MUST(cuStreamGetId(first, &one));
  MUST(cuStreamDestroy(first));
  MUST_BE(simcuda_findings(), 0);
  MUST_BE(cuStreamQuery(first), INVALID_HANDLE);
  MUST_BE(cuStreamDestroy(first), INVALID_HANDLE);
  MUST_BE(cuEventRecord(event, first), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 3);
  // A value that never was a handle is not a stale handle.
  MUST_BE(cuStreamQuery((CUstream)4096), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 3);
  MUST(cuStreamCreate(&second, 0));
  MUST(cuStreamGetId(second, &two));
  MUST_BE(first == second, reuse);
  MUST_BE(one != two, 1);  // ids never recur
  MUST(cuEventDestroy(event));
  MUST_BE(cuEventQuery(event), INVALID_HANDLE);
  MUST_BE(cuEventDestroy(event), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 5);
  return 0;
}
