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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(cuMemcpyDtoDAsync(copy, data, 1, stream));
  MUST(cuMemsetD8Async(data, 2, 1, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 1);
  return 0;
}
