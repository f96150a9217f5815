// SPDX-License-Identifier: BSD-3-Clause
// Rule: The memory of a pool is accessible from its own device, always, and from others as stated.
// Source: cuda.h, cuMemPoolSetAccess and cuMemPoolGetAccess
#include "driver_test.h"

typedef struct {
  int type, id;
} Location;
typedef struct {
  Location location;
  int flags;
} Access;

int main(void) {
  start();
  need_two_devices();
  USE_POOLS;
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const Access *, size_t);
  USE(cuMemPoolGetAccess, 11020, int *, CUmemoryPool, Location *);
  USE(cuDeviceCanAccessPeer, 4000, int *, CUdevice, CUdevice);
  enum { DEVICE = 1, NONE = 0, READ_WRITE = 3 };
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  Location own = {DEVICE, 0}, other = {DEVICE, 1};
  Access access = {{DEVICE, 1}, READ_WRITE};
  int flags = -1, can = 0;
  MUST(cuDeviceCanAccessPeer(&can, 1, 0));
  if (!can) {
    printf("skipped: the devices are no peers\n");
    return 77;
  }
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemPoolGetAccess(&flags, pool, &own));
  MUST_BE(flags, READ_WRITE);
  MUST(cuMemPoolGetAccess(&flags, pool, &other));
  MUST_BE(flags, NONE);
  MUST(cuMemPoolSetAccess(pool, &access, 1));
  MUST(cuMemPoolGetAccess(&flags, pool, &other));
  MUST_BE(flags, READ_WRITE);
  access.flags = NONE;
  MUST(cuMemPoolSetAccess(pool, &access, 1));
  MUST(cuMemPoolGetAccess(&flags, pool, &other));
  MUST_BE(flags, NONE);
  access.location.id = 0;
  MUST_BE(cuMemPoolSetAccess(pool, &access, 1) != SUCCESS, 1);
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
