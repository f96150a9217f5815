// SPDX-License-Identifier: BSD-3-Clause
// Rule: A copy from the null address is refused; one of a whole allocation is not.
// Source: assumed, after what clients see; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  CUdeviceptr data;
  static unsigned char host[4u << 20];
  MUST(cuMemAlloc(&data, 2u << 20));
  MUST(cuMemcpyDtoH(host, data, 2u << 20));
  MUST_BE(cuMemcpyDtoH(host, 0, 1), INVALID_VALUE);
  return 0;
}
