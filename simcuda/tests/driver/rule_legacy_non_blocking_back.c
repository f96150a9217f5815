// SPDX-License-Identifier: BSD-3-Clause
// Rule: A non-blocking stream does not wait for the legacy stream.
// Source: CUDA driver API manual, Stream synchronization behavior
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_GATE;
  CUstream stream;
  CUevent event;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 0, 1, LEGACY));  // the first of all may load code, and wait for that
  MUST(cuStreamSynchronize(LEGACY));
  HOLD_UP(LEGACY);
  MUST(cuEventRecord(event, LEGACY));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(cuEventQuery(event), NOT_READY);
  open_gate();
  MUST(cuEventSynchronize(event));
  return 0;
}
