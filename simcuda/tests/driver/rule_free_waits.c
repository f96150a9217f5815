// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuMemFree of ordinary memory waits for the work of its device.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  CUstream stream;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  HOLD_UP_FOR_A_WHILE(stream);
  MUST(cuMemFree(data));
  FOUND("it waited", cuStreamQuery(stream) == SUCCESS, 1);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  return 0;
}
