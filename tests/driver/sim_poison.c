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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 16));
  OK(cuMemcpyDtoH(&value, data + 15, 1));
  EXPECT(value, 0xCB);
  OK(cuMemFree(data));
  EXPECT(cuMemcpyDtoH(&value, data, 1), INVALID_VALUE);
  EXPECT(cuMemFree(data), INVALID_VALUE);

  OK(cuMemAlloc(&copy, 1));
  OK(cuMemAllocAsync(&pooled, 1, stream));
  OK(cuMemsetD8Async(pooled, 1, 1, stream));
  OK(cuMemcpyDtoDAsync(copy, pooled, 1, stream));
  OK(cuMemFree(pooled));  // of a pool: does not wait
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, copy, 1));
  EXPECT(value, 0xDB);
  return 0;
}
