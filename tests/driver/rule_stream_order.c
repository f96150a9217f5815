// SPDX-License-Identifier: BSD-3-Clause
// Rule: Work on one stream is done in the order in which it was given.
// Source: CUDA programming guide, Streams
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUstream stream;
  CUdeviceptr data, copy;
  unsigned char value = 0;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemAlloc(&copy, 1));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuMemcpyDtoDAsync(copy, data, 1, stream));
  OK(cuMemsetD8Async(data, 2, 1, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 1);
  return 0;
}
