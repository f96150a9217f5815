// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuMemFreeHost waits for the work of its device.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_GATE;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  CUstream stream;
  void *host;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemHostAlloc(&host, 64, 0));
  HOLD_UP_FOR_A_WHILE(stream);
  MUST(cuMemFreeHost(host));
  FOUND("it waited", cuStreamQuery(stream) == SUCCESS, 1);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  return 0;
}
