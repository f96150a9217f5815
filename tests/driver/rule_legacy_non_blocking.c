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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemsetD8Async(data, 0, 1, LEGACY));  // the first of all may load code, and wait for that
  OK(cuStreamSynchronize(LEGACY));
  HOLD_UP(stream);
  OK(cuMemsetD8Async(data, 1, 1, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(cuStreamQuery(stream), NOT_READY);
  open_gate();
  OK(cuStreamSynchronize(stream));
  return 0;
}
