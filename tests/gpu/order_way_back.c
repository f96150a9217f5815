// SPDX-License-Identifier: BSD-3-Clause
// After cai_use_end() the producer's stream waits for the consumer, which only read;
// without it, it does not.
#include "order.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  CUstream producer, consumer;
  CUdeviceptr data, copy;
  Bytes bytes;
  unsigned char value = 1;
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&copy, SIZE));
  // The first of each may load code, and wait for that.
  MUST(cuMemsetD8Async(data, 0, SIZE, LEGACY));
  MUST(cuMemcpyDtoDAsync(copy, data, SIZE, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemsetD8Async(data, 1, SIZE, producer));
  MUST(cuStreamSynchronize(producer));
  bytes_of(&bytes, data, producer);

  MUST_BE(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_OK);
  HOLD_UP(consumer);
  MUST(cuMemcpyDtoDAsync(copy, data, SIZE, consumer));
  MUST_BE(end(&bytes, consumer, CAI_ORDER_NONE), CAI_OK);
  MUST(cuStreamSynchronize(producer));  // which waits for nothing
  MUST_BE(cuStreamQuery(consumer), NOT_READY);

  MUST_BE(end(&bytes, consumer, CAI_ORDER_BOTH), CAI_OK);
  MUST(cuMemsetD8Async(data, 2, SIZE, producer));
  MUST_BE(cuStreamQuery(producer), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(producer));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 2);
  return 0;
}
