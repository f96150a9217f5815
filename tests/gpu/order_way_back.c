// SPDX-License-Identifier: BSD-3-Clause
// After cai_arrays_end_use() the producer's stream waits for the consumer, which only read;
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
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuMemAlloc(&data, SIZE));
  OK(cuMemAlloc(&copy, SIZE));
  // The first of each may load code, and wait for that.
  OK(cuMemsetD8Async(data, 0, SIZE, LEGACY));
  OK(cuMemcpyDtoDAsync(copy, data, SIZE, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuMemsetD8Async(data, 1, SIZE, producer));
  OK(cuStreamSynchronize(producer));
  bytes_of(&bytes, data, producer);

  EXPECT(begin(&bytes, consumer, CAI_ORDER_BOTH), CAI_OK);
  HOLD_UP(consumer);
  OK(cuMemcpyDtoDAsync(copy, data, SIZE, consumer));
  EXPECT(end(&bytes, consumer, CAI_ORDER_NONE), CAI_OK);
  OK(cuStreamSynchronize(producer));  // which waits for nothing
  EXPECT(cuStreamQuery(consumer), NOT_READY);

  EXPECT(end(&bytes, consumer, CAI_ORDER_BOTH), CAI_OK);
  OK(cuMemsetD8Async(data, 2, SIZE, producer));
  EXPECT(cuStreamQuery(producer), NOT_READY);
  open_gate();
  OK(cuStreamSynchronize(producer));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 2);
  return 0;
}
