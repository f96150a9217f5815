// SPDX-License-Identifier: BSD-3-Clause
// A copy from pageable memory has taken its source when it returns; one to pageable memory has
// delivered, though both are "async".
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data;
  unsigned char source = 1, target = 0;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemcpyHtoDAsync(data, &source, 1, stream));
  source = 2;
  OK(cuMemcpyDtoHAsync(&target, data, 1, stream));
  EXPECT(target, 1);
  return 0;
}
