// SPDX-License-Identifier: BSD-3-Clause
// Rule: A copy from pageable memory, "async" too, has taken its source when it returns.
// Source: CUDA driver API manual, API synchronization behavior
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data;
  unsigned char value = 1;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemcpyHtoDAsync(data, &value, 1, stream));
  value = 2;
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 1);
  return 0;
}
