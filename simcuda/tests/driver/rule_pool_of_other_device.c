// SPDX-License-Identifier: BSD-3-Clause
// Rule: A device copies to and from another device's pool only with access to the pool; otherwise
// the call is refused with INVALID_VALUE, also for managed memory on the other side. A copy that
// names the contexts needs none.
// Source: assumed, cuda.core's tests of peer access; to be checked on a GPU
#include "driver_test.h"

typedef struct {
  int type, id, flags;
} Access;

int main(void) {
  CUcontext first = start(), second;
  need_two_devices();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const Access *, size_t);
  USE(cuDeviceCanAccessPeer, 4000, int *, CUdevice, CUdevice);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuMemcpyAsync, 4000, CUdeviceptr, CUdeviceptr, size_t, CUstream);
  USE(cuMemcpyPeerAsync, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
  enum { DEVICE = 1, NONE = 0, READ_WRITE = 3, SIZE = 4096 };
  const PoolProperties properties = {.type = 1, .location_type = DEVICE, .location_id = 1};
  Access access = {DEVICE, 0, READ_WRITE};
  CUmemoryPool pool;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr here, there, managed;
  CUstream stream, stream_there;
  unsigned char byte = 0;
  int can = 0;
  MUST(cuDeviceCanAccessPeer(&can, 0, 1));
  if (!can) {
    printf("skipped: the devices are no peers\n");
    return 77;
  }
  MUST(cuMemAlloc(&here, SIZE));
  MUST(cuMemAllocManaged(&managed, SIZE, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuStreamCreate(&stream_there, NON_BLOCKING));
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&there, SIZE, pool, stream_there));
  MUST(cuMemsetD8Async(there, 5, SIZE, stream_there));
  MUST(cuStreamSynchronize(stream_there));
  MUST(cuCtxSetCurrent(first));
  MUST(cuMemsetD8Async(here, 4, SIZE, stream));
  for (int pass = 0; pass < 2; ++pass) {
    MUST_BE(cuMemcpyAsync(here, there, SIZE, stream), INVALID_VALUE);
    MUST_BE(cuMemcpyAsync(there, here, SIZE, stream), INVALID_VALUE);
    MUST_BE(cuMemcpyDtoDAsync(here, there, SIZE, stream), INVALID_VALUE);
    MUST_BE(cuMemcpyAsync(managed, there, SIZE, stream), INVALID_VALUE);
    MUST_BE(cuMemcpyAsync(there, managed, SIZE, stream), INVALID_VALUE);
    FOUND_STATUS("a copy to the host", cuMemcpyDtoH(&byte, there, 1), 0);
    MUST(cuStreamSynchronize(stream));
    if (pass == 1) break;
    MUST(cuMemPoolSetAccess(pool, &access, 1));
    MUST(cuMemcpyAsync(managed, there, SIZE, stream));
    MUST(cuMemcpyAsync(here, there, SIZE, stream));
    MUST(cuMemcpyAsync(there, here, SIZE, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(&byte, here, 1));
    MUST_BE(byte, 5);
    access.flags = NONE;
    MUST(cuMemPoolSetAccess(pool, &access, 1));
  }
  FOUND_STATUS("a memset", cuMemsetD8Async(there, 6, SIZE, stream), 0);
  FOUND_STATUS("a copy that names the contexts",
               cuMemcpyPeerAsync(here, first, there, second, SIZE, stream), 0);
  MUST(cuStreamSynchronize(stream));
  // The pool's own device may write the other one's memory.
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemcpyAsync(here, there, SIZE, stream_there));
  MUST(cuMemFreeAsync(there, stream_there));
  MUST(cuStreamSynchronize(stream_there));
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
