// SPDX-License-Identifier: BSD-3-Clause
// Rule: The legacy stream does not wait for a non-blocking stream.
// Source: CUDA driver API manual, Stream synchronization behavior
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
  MUST(cuMemsetD8Async(data, 0, 1, LEGACY));  // the first of all may load code, and wait for that
  MUST(cuStreamSynchronize(LEGACY));
  HOLD_UP(stream);
  MUST(cuMemsetD8Async(data, 1, 1, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  return 0;
}
