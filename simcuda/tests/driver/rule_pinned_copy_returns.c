// SPDX-License-Identifier: BSD-3-Clause
// Rule: An async copy to pinned memory returns before it is done.
// Source: CUDA driver API manual, API synchronization behavior
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data;
  unsigned char *host;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemHostAlloc((void **)&host, 1, 0));
  *host = 1;
  MUST(cuMemsetD8Async(data, 2, 1, stream));
  HOLD_UP(stream);
  MUST(cuMemcpyDtoHAsync(host, data, 1, stream));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST_BE(*host, 1);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  MUST_BE(*host, 2);
  return 0;
}
