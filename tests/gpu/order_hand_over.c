// SPDX-License-Identifier: BSD-3-Clause
// After cai_arrays_begin_use() the consumer's stream waits for what the producer has pending;
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
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuMemAlloc(&data, SIZE));
  OK(cuMemAlloc(&copy, SIZE));
  bytes_of(&bytes, data, producer);
  // The first of each may load code, and wait for that.
  OK(cuMemsetD8Async(data, 0, SIZE, LEGACY));
  OK(cuMemcpyDtoDAsync(copy, data, SIZE, LEGACY));
  OK(cuStreamSynchronize(LEGACY));

  HOLD_UP(producer);
  OK(cuMemsetD8Async(data, 1, SIZE, producer));
  EXPECT(begin(&bytes, consumer, CAI_ORDER_NONE), CAI_OK);
  OK(cuStreamSynchronize(consumer));  // which waits for nothing
  EXPECT(cuStreamQuery(producer), NOT_READY);

  EXPECT(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_OK);
  OK(cuMemcpyDtoDAsync(copy, data, SIZE, consumer));
  EXPECT(cuStreamQuery(consumer), NOT_READY);
  open_gate();
  OK(cuStreamSynchronize(consumer));
  EXPECT(cuStreamQuery(producer), SUCCESS);
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
