// SPDX-License-Identifier: BSD-3-Clause
// Rule: Where the device has handles that are descriptors (attribute 103), its pools can be shared
// by them (attribute 119), and such a pool can be made.
// Source: assumed, cuda.core asks the first before it makes the second; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_POOLS;
  USE(cuDeviceGetAttribute, 2000, int *, int, CUdevice);
  enum { DESCRIPTORS = 103, OF_POOLS = 119, DESCRIPTOR = 1 };
  const PoolProperties properties = {.type = 1, .handles = DESCRIPTOR, .location_type = 1};
  CUmemoryPool pool;
  int descriptors = -1, of_pools = -1;
  MUST(cuDeviceGetAttribute(&descriptors, DESCRIPTORS, 0));
  MUST(cuDeviceGetAttribute(&of_pools, OF_POOLS, 0));
  FOUND("both agree", descriptors == (of_pools & DESCRIPTOR), 1);
  if (!(of_pools & DESCRIPTOR)) {
    printf("skipped: this device's pools cannot be shared\n");
    return 77;
  }
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
