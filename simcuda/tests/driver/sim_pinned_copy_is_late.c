// SPDX-License-Identifier: BSD-3-Clause
// A copy to pinned memory is not done when it returns, nor has one from it taken its source.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data;
  unsigned char *host;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemHostAlloc((void **)&host, 2, 0));
  host[0] = 1;
  host[1] = 0;
  MUST(cuMemcpyHtoDAsync(data, &host[0], 1, stream));
  host[0] = 2;
  MUST(cuMemcpyDtoHAsync(&host[1], data, 1, stream));
  MUST_BE(host[1], 0);
  MUST(cuStreamSynchronize(stream));
  MUST_BE(host[1], 2);
  return 0;
}
