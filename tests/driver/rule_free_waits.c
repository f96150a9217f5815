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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  HOLD_UP(stream);
  OK(cuMemFree(data));
  FOUND("it waited", cuStreamQuery(stream) == SUCCESS, 1);
  open_gate();
  OK(cuStreamSynchronize(stream));
  return 0;
}
