// SPDX-License-Identifier: BSD-3-Clause
// Fresh memory holds 0xCB. A freed pointer is refused; work that is still pending when its memory
// is freed reads 0xDB.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data, copy, pooled;
  unsigned char value = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 16));
  MUST(cuMemcpyDtoH(&value, data + 15, 1));
  MUST_BE(value, 0xCB);
  MUST(cuMemFree(data));
  MUST_BE(cuMemcpyDtoH(&value, data, 1), INVALID_VALUE);
  MUST_BE(cuMemFree(data), INVALID_VALUE);

  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemAllocAsync(&pooled, 1, stream));
  MUST(cuMemsetD8Async(pooled, 1, 1, stream));
  MUST(cuMemcpyDtoDAsync(copy, pooled, 1, stream));
  MUST(cuMemFree(pooled));  // of a pool: does not wait
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, copy, 1));
  MUST_BE(value, 0xDB);
  return 0;
}
