// SPDX-License-Identifier: BSD-3-Clause
// A copy or memset that leaves its allocation is refused, by one byte, too.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  CUdeviceptr data;
  unsigned char host[17] = {0};
  MUST(cuMemAlloc(&data, 16));
  MUST(cuMemcpyHtoD(data, host, 16));
  MUST_BE(cuMemcpyHtoD(data, host, 17), INVALID_VALUE);
  MUST_BE(cuMemcpyHtoD(data + 16, host, 1), INVALID_VALUE);
  MUST_BE(cuMemcpyHtoD(data - 1, host, 1), INVALID_VALUE);
  MUST_BE(cuMemsetD8Async(data + 8, 0, 9, LEGACY), INVALID_VALUE);
  MUST_BE(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)host, host, 1), INVALID_VALUE);
  return 0;
}
