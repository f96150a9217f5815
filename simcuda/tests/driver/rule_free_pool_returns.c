// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuMemFree of pool memory waits for nothing.
// Source: cuda.h, cuMemFree
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, 1024, stream));
  MUST(cuStreamSynchronize(stream));
  HOLD_UP(stream);
  MUST(cuMemFree(data));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  return 0;
}
