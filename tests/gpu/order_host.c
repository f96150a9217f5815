// SPDX-License-Identifier: BSD-3-Clause
// cai_array_sync_host() returns once the producer's work is complete.
#include "order.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  CUstream producer;
  CUdeviceptr data;
  Bytes bytes;
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuMemAlloc(&data, SIZE));
  bytes_of(&bytes, data, producer);
  OK(cuLaunchHostFunc(producer, wait_at_gate, (void *)(uintptr_t)50));
  OK(cuMemsetD8Async(data, 1, SIZE, producer));
  EXPECT(cuStreamQuery(producer), NOT_READY);
  EXPECT(cai_array_sync_host(&bytes.array, NULL), CAI_OK);
  EXPECT(cuStreamQuery(producer), SUCCESS);
  return 0;
}
