// SPDX-License-Identifier: BSD-3-Clause
// Rule: Work that is pending when its stream is destroyed is still done.
// Source: cuda.h, cuStreamDestroy
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxSynchronize, 2000, void);
  CUstream stream;
  CUdeviceptr data;
  unsigned char value = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 5, 1, stream));
  MUST(cuStreamDestroy(stream));
  MUST(cuCtxSynchronize());
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 5);
  return 0;
}
