// SPDX-License-Identifier: BSD-3-Clause
// The lazy schedule shows a forgotten wait: the consumer's stream reads what was there before.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUstream producer, consumer;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, consumer));
  OK(cuStreamSynchronize(consumer));
  OK(cuMemsetD8Async(data, 2, 1, producer));
  OK(cuMemcpyDtoDAsync(copy, data, 1, consumer));
  OK(cuStreamSynchronize(consumer));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
