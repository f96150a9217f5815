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
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuMemAlloc(&data, SIZE));
  bytes_of(&bytes, data, producer);
  MUST(cuLaunchHostFunc(producer, wait_at_gate, (void *)(uintptr_t)50));
  MUST(cuMemsetD8Async(data, 1, SIZE, producer));
  MUST_BE(cuStreamQuery(producer), NOT_READY);
  MUST_BE(cai_array_sync_host(&bytes.array, NULL), CAI_OK);
  MUST_BE(cuStreamQuery(producer), SUCCESS);
  return 0;
}
