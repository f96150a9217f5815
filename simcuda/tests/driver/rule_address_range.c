// SPDX-License-Identifier: BSD-3-Clause
// Rule: The range of an allocation is found from any address in it.
// Source: cuda.h, cuMemGetAddressRange
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemGetAddressRange, 3020, CUdeviceptr *, size_t *, CUdeviceptr);
  CUdeviceptr data, base = 0;
  size_t size = 0;
  MUST(cuMemAlloc(&data, 4096));
  MUST(cuMemGetAddressRange(&base, &size, data + 4095));
  MUST_BE(base == data, 1);
  MUST_BE(size, 4096);
  MUST(cuMemGetAddressRange(NULL, &size, data));
  MUST(cuMemFree(data));
  MUST_BE(cuMemGetAddressRange(&base, &size, data) != SUCCESS, 1);
  return 0;
}
