// SPDX-License-Identifier: BSD-3-Clause
// After cai_use_begin() the consumer's stream waits for what the producer has pending;
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
  unsigned char value = 0;
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&copy, SIZE));
  bytes_of(&bytes, data, producer);
  // The first of each may load code, and wait for that.
  MUST(cuMemsetD8Async(data, 0, SIZE, LEGACY));
  MUST(cuMemcpyDtoDAsync(copy, data, SIZE, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));

  HOLD_UP(producer);
  MUST(cuMemsetD8Async(data, 1, SIZE, producer));
  MUST_BE(begin(&bytes, consumer, CAI_ORDER_NONE), CAI_OK);
  MUST(cuStreamSynchronize(consumer));  // which waits for nothing
  MUST_BE(cuStreamQuery(producer), NOT_READY);

  MUST_BE(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_OK);
  MUST(cuMemcpyDtoDAsync(copy, data, SIZE, consumer));
  MUST_BE(cuStreamQuery(consumer), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(consumer));
  MUST_BE(cuStreamQuery(producer), SUCCESS);
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  return 0;
}
