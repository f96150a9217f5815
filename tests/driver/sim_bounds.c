// SPDX-License-Identifier: BSD-3-Clause
// A copy or memset that leaves its allocation is refused, by one byte, too.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  CUdeviceptr data;
  unsigned char host[17] = {0};
  OK(cuMemAlloc(&data, 16));
  OK(cuMemcpyHtoD(data, host, 16));
  EXPECT(cuMemcpyHtoD(data, host, 17), INVALID_VALUE);
  EXPECT(cuMemcpyHtoD(data + 16, host, 1), INVALID_VALUE);
  EXPECT(cuMemcpyHtoD(data - 1, host, 1), INVALID_VALUE);
  EXPECT(cuMemsetD8Async(data + 8, 0, 9, LEGACY), INVALID_VALUE);
  EXPECT(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)host, host, 1), INVALID_VALUE);
  return 0;
}
