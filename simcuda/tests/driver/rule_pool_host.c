// SPDX-License-Identifier: BSD-3-Clause
// Rule: A pool of the host's memory hands out pinned memory in stream order, to which a device is
// given access; each place has a default pool for pinned and one for managed memory, and another
// one can be set.
// Source: cuda.h, cuMemPoolCreate, cuMemGetDefaultMemPool; access to be checked on a GPU
#include "attributes.h"

typedef struct {
  int type, id;
} Location;

typedef struct {
  Location location;
  int flags;
} Access;

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE(cuMemGetDefaultMemPool, 13000, CUmemoryPool *, Location *, int);
  USE(cuMemGetMemPool, 13000, CUmemoryPool *, Location *, int);
  USE(cuMemSetMemPool, 13000, Location *, int, CUmemoryPool);
  USE(cuMemPoolGetAccess, 11020, int *, CUmemoryPool, Location *);
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const Access *, size_t);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  enum { PINNED = 1, MANAGED = 2, ON_GPU = 1, ON_HOST = 2, SIZE = 4096, READ_WRITE = 3 };
  const PoolProperties properties = {.type = PINNED, .location_type = ON_HOST};
  Location host = {ON_HOST, 0}, device = {ON_GPU, 0}, nowhere = {99, 0}, unsaid = {0, 0};
  CUmemoryPool pool, usual = NULL, is = NULL, of_device = NULL;
  CUdeviceptr data, again;
  CUstream stream;
  int access = -1;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  const CUresult made = cuMemPoolCreate(&pool, &properties);
  if (made == NOT_SUPPORTED) {
    printf("skipped: no pools of the host's memory\n");
    return 77;
  }
  MUST_BE(made, SUCCESS);
  MUST(cuMemPoolGetAccess(&access, pool, &host));
  MUST_BE(access, READ_WRITE);
  MUST(cuMemPoolGetAccess(&access, pool, &device));
  FOUND("a device has access to it", access == READ_WRITE, 0);
  MUST(cuMemAllocFromPoolAsync(&data, SIZE, pool, stream));
  FOUND_STATUS("memset without access", cuMemsetD8Async(data, 7, SIZE, stream), INVALID_VALUE);
  FOUND_STATUS("its device pointer without access",
               cuMemHostGetDevicePointer(&again, (void *)(uintptr_t)data, 0), INVALID_VALUE);
  const Access access_of_device = {device, READ_WRITE};
  MUST(cuMemPoolSetAccess(pool, &access_of_device, 1));
  MUST(cuMemPoolGetAccess(&access, pool, &device));
  MUST_BE(access, READ_WRITE);
  MUST(cuMemsetD8Async(data, 7, SIZE, stream));
  MUST(cuStreamSynchronize(stream));
  const unsigned char *bytes = (const unsigned char *)(uintptr_t)data;
  MUST_BE(bytes[0], 7);
  MUST_BE(bytes[SIZE - 1], 7);
  MUST_BE(attributes_of(data).of[MEMORY_TYPE], HOST_MEMORY);
  MUST_BE(attributes_of(data).of[MEMPOOL_HANDLE] == address_of(pool), 1);
  FOUND_STATUS("cuMemFreeHost of a pool's memory", cuMemFreeHost((void *)(uintptr_t)data),
               INVALID_VALUE);
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuMemAllocFromPoolAsync(&again, SIZE, pool, stream));
  MUST(cuStreamSynchronize(stream));
  *(unsigned char *)(uintptr_t)again = 8;
  MUST(cuMemFree(again));

  MUST(cuMemGetDefaultMemPool(&usual, &host, PINNED));
  MUST(cuMemGetMemPool(&is, &host, PINNED));
  MUST_BE(usual == is && usual != NULL, 1);
  MUST(cuMemPoolGetAccess(&access, usual, &device));
  FOUND("a device has access to the default pool", access == READ_WRITE, 0);
  MUST(cuMemGetDefaultMemPool(&of_device, &device, PINNED));
  MUST_BE(usual != of_device, 1);
  MUST(cuMemGetDefaultMemPool(&of_device, &device, MANAGED));
  MUST(cuMemAllocFromPoolAsync(&data, SIZE, of_device, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(attributes_of(data).of[IS_MANAGED], 1);
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuMemSetMemPool(&host, PINNED, pool));
  MUST(cuMemGetMemPool(&is, &host, PINNED));
  MUST_BE(is == pool, 1);
  MUST_BE(cuMemSetMemPool(&device, PINNED, pool) != SUCCESS, 1);
  MUST_BE(cuMemSetMemPool(&host, MANAGED, pool) != SUCCESS, 1);
  MUST_BE(cuMemGetMemPool(&is, &nowhere, PINNED), NOT_SUPPORTED);
  MUST_BE(cuMemGetMemPool(&is, &unsaid, PINNED), INVALID_VALUE);
  MUST_BE(cuMemGetMemPool(NULL, &host, PINNED), INVALID_VALUE);
  MUST(cuMemSetMemPool(&host, PINNED, usual));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuMemGetMemPool(&is, &host, PINNED));
  MUST_BE(is == usual, 1);
  MUST_BE(cuMemPoolDestroy(usual) != SUCCESS, 1);
  MUST(cuStreamSynchronize(stream));
  return 0;
}
