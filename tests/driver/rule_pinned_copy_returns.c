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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAlloc(&data, 1));
  OK(cuMemHostAlloc((void **)&host, 1, 0));
  *host = 1;
  OK(cuMemsetD8Async(data, 2, 1, stream));
  HOLD_UP(stream);
  OK(cuMemcpyDtoHAsync(host, data, 1, stream));
  EXPECT(cuStreamQuery(stream), NOT_READY);
  EXPECT(*host, 1);
  open_gate();
  OK(cuStreamSynchronize(stream));
  EXPECT(*host, 2);
  return 0;
}
