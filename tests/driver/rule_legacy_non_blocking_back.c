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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemsetD8Async(data, 0, 1, LEGACY));  // the first of all may load code, and wait for that
  OK(cuStreamSynchronize(LEGACY));
  HOLD_UP(LEGACY);
  OK(cuEventRecord(event, LEGACY));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT(cuEventQuery(event), NOT_READY);
  open_gate();
  OK(cuEventSynchronize(event));
  return 0;
}
