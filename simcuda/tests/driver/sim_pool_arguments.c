// SPDX-License-Identifier: BSD-3-Clause
// What pools are asked for with no room left, at their limit, and by places; and what they refuse.
#include "driver_test.h"

typedef struct {
  int type, id;
} Location;

typedef struct {
  Location location;
  int flags;
} Access;

enum { PINNED = 1, MANAGED = 2, DEVICE = 1, MIB = 1 << 20, INVALID_TYPE = 0, READ_WRITE = 3 };

// A pool has no more than its maximum, in whole pieces of 32 MiB (as an H200's), and a failed
// allocation does not change it.
static void check_limit(void) {
  USE_STREAMS;
  USE_POOLS;
  const PoolProperties properties = {.type = PINNED, .location_type = DEVICE, .most = 3 * MIB + 1};
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr data[4], none = 7;
  uint64_t used = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemPoolCreate(&pool, &properties));
  for (int i = 0; i < 4; ++i) MUST(cuMemAllocFromPoolAsync(&data[i], 8 * MIB, pool, stream));
  MUST_BE(cuMemAllocFromPoolAsync(&none, 1, pool, stream), OUT_OF_MEMORY);
  MUST_BE(none, 0);
  MUST_BE(cuMemAllocFromPoolAsync(&none, (size_t)1 << 60, pool, stream), OUT_OF_MEMORY);
  // Frees that are on their way make room.
  MUST(cuMemFreeAsync(data[0], stream));
  MUST(cuMemFreeAsync(data[1], stream));
  MUST(cuMemAllocFromPoolAsync(&data[0], 16 * MIB, pool, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolGetAttribute(pool, USED, &used));
  MUST_BE(used, 32 * MIB);
  MUST(cuMemFreeAsync(data[0], stream));
  MUST(cuMemFreeAsync(data[2], stream));
  MUST(cuMemFreeAsync(data[3], stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamDestroy(stream));
}

// A block that was free already is not lost where there is no room for what was asked for: one page
// holds more than was freed of it.
static void check_block_kept(void) {
  USE_STREAMS;
  USE_POOLS;
  enum { LITTLE = 16, MORE = 4096, OTHER = 32 * MIB - MORE + LITTLE };
  const PoolProperties properties = {.type = PINNED, .location_type = DEVICE, .most = 32 * MIB};
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr other, data, again = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&other, OTHER, pool, stream));
  MUST(cuMemAllocFromPoolAsync(&data, LITTLE, pool, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuMemAllocFromPoolAsync(&again, MORE, pool, stream), OUT_OF_MEMORY);
  MUST(cuMemAllocFromPoolAsync(&again, LITTLE, pool, stream));
  MUST_BE(again == data, 1);
  MUST(cuMemFreeAsync(again, stream));
  MUST(cuMemFreeAsync(other, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamDestroy(stream));
}

// However much a pool may have: the last whole piece is not beyond all numbers.
static void check_no_limit(void) {
  USE_POOLS;
  const PoolProperties properties = {.type = PINNED, .location_type = DEVICE, .most = SIZE_MAX};
  CUmemoryPool pool;
  CUdeviceptr data;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocFromPoolAsync(&data, 64, pool, LEGACY));
  MUST(cuMemFreeAsync(data, LEGACY));
  MUST(cuMemPoolDestroy(pool));
}

// Memory of a managed pool is any device's; what is late does nothing to what was freed.
static void check_managed_memory(void) {
  USE_MEMORY;
  USE_POOLS;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  USE(cuMemDiscardBatchAsync, 13000, CUdeviceptr *, size_t *, size_t, unsigned long long, CUstream);
  const PoolProperties properties = {.type = MANAGED, .location_type = DEVICE};
  CUmemoryPool pool;
  CUstream streams[2];
  CUcontext first, second;
  CUdeviceptr data;
  size_t size = 64;
  unsigned char byte = 0;
  MUST(cuMemPoolCreate(&pool, &properties));
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  MUST(cuMemAllocFromPoolAsync(&data, size, pool, streams[0]));
  MUST(cuStreamSynchronize(streams[0]));
  MUST(cuCtxGetCurrent(&first));
  MUST(cuCtxCreate(&second, 0, 1));
  MUST(cuMemsetD8Async(data, 7, size, LEGACY));
  MUST(cuMemcpyDtoDAsync(data + 8, data, 8, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemcpyDtoH(&byte, data + 15, 1));
  MUST_BE(byte, 7);
  MUST(cuCtxDestroy(second));
  MUST(cuCtxSetCurrent(first));
  MUST(cuMemDiscardBatchAsync(&data, &size, 1, 0, streams[0]));
  MUST(cuMemFreeAsync(data, streams[1]));
  MUST(cuStreamSynchronize(streams[1]));
  MUST(cuMemPoolTrimTo(pool, 0));
  MUST(cuStreamSynchronize(streams[0]));
  MUST(cuMemPoolDestroy(pool));
  for (int i = 0; i < 2; ++i) MUST(cuStreamDestroy(streams[i]));
}

static void check_managed(void) {
  USE_CAPTURE;
  USE_GRAPHS;
  USE_MEMORY;
  USE_POOLS;
  CUgraphExec exec;
  const PoolProperties properties = {.type = MANAGED, .location_type = DEVICE};
  const PoolProperties shared = {.type = MANAGED, .handles = 1, .location_type = DEVICE};
  CUmemoryPool pool;
  CUstream stream;
  CUgraph graph = NULL;
  CUdeviceptr data = 0;
  MUST_BE(cuMemPoolCreate(&pool, &shared), INVALID_VALUE);
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemAllocFromPoolAsync(&data, 64, pool, stream));
  MUST(cuMemsetD8Async(data, 1, 64, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamDestroy(stream));
}

static void check_places(void) {
  USE_POOLS;
  USE(cuMemPoolSetAccess, 11020, CUmemoryPool, const Access *, size_t);
  USE(cuMemPoolGetAccess, 11020, int *, CUmemoryPool, Location *);
  USE(cuMemGetDefaultMemPool, 13000, CUmemoryPool *, Location *, int);
  USE(cuMemGetMemPool, 13000, CUmemoryPool *, Location *, int);
  USE(cuMemSetMemPool, 13000, Location *, int, CUmemoryPool);
  const PoolProperties properties = {.type = PINNED, .location_type = DEVICE};
  const PoolProperties managed_properties = {.type = MANAGED, .location_type = DEVICE};
  const PoolProperties win32 = {.type = PINNED, .handles = 2, .location_type = DEVICE};
  Location first = {DEVICE, 0}, second = {DEVICE, 1}, nowhere = {INVALID_TYPE, 0}, host = {2, 0};
  const Access of_host = {host, READ_WRITE};
  const Access own = {first, READ_WRITE}, none_own = {first, 0}, other = {second, READ_WRITE};
  // Of the host's memory there is one place, by several names; managed memory needs none.
  Location numa = {3, 0}, other_numa = {3, 1}, unknown = {5, 0};
  const PoolProperties of_numa = {.type = PINNED, .location_type = 3};
  const PoolProperties of_other_numa = {.type = PINNED, .location_type = 3, .location_id = 1};
  const PoolProperties shared_host = {.type = PINNED, .handles = 1, .location_type = 2};
  const PoolProperties managed_nowhere = {.type = MANAGED};
  CUmemoryPool pool, managed, is = NULL, usual = NULL;
  int access = 7, value = 0;
  MUST_BE(cuMemPoolCreate(&pool, &win32), INVALID_VALUE);
  MUST_BE(cuMemPoolCreate(&pool, &of_other_numa), INVALID_VALUE);
  MUST_BE(cuMemPoolCreate(&pool, &shared_host), NOT_SUPPORTED);
  MUST(cuMemPoolCreate(&pool, &of_numa));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuMemGetDefaultMemPool(&is, &numa, PINNED));
  MUST_BE(cuMemGetDefaultMemPool(&is, &other_numa, PINNED), INVALID_VALUE);
  MUST_BE(cuMemGetDefaultMemPool(&is, &nowhere, PINNED), INVALID_VALUE);
  MUST_BE(cuMemGetDefaultMemPool(&is, &unknown, PINNED), NOT_SUPPORTED);
  MUST(cuMemGetDefaultMemPool(&is, &nowhere, MANAGED));
  MUST(cuMemPoolCreate(&managed, &managed_nowhere));
  MUST(cuMemPoolSetAccess(managed, &of_host, 1));  // which it has
  MUST(cuMemPoolDestroy(managed));
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemPoolCreate(&managed, &managed_properties));
  // The pool's own device always has access.
  MUST(cuMemPoolSetAccess(pool, &own, 1));
  MUST_BE(cuMemPoolSetAccess(pool, &none_own, 1), INVALID_DEVICE);
  MUST_BE(cuMemPoolSetAccess(pool, NULL, 1), INVALID_VALUE);
  MUST(cuMemPoolSetAccess(pool, &other, 1));
  MUST(cuMemPoolGetAccess(&access, pool, &second));
  MUST_BE(access, READ_WRITE);
  MUST_BE(cuMemPoolGetAccess(&access, pool, &nowhere), INVALID_VALUE);
  MUST(cuMemPoolGetAccess(&access, pool, &host));
  MUST_BE(access, 0);
  MUST_BE(cuMemPoolSetAccess(pool, &of_host, 1), NOT_SUPPORTED);
  MUST_BE(cuMemPoolGetAttribute(pool, 0, &value), INVALID_VALUE);

  MUST(cuMemGetDefaultMemPool(&usual, &first, PINNED));
  MUST(cuMemGetMemPool(&is, &first, PINNED));
  MUST_BE(is == usual, 1);
  MUST(cuMemGetDefaultMemPool(&is, &first, MANAGED));
  MUST_BE(is != usual, 1);
  MUST_BE(cuMemGetDefaultMemPool(&is, &first, 9), INVALID_VALUE);
  MUST_BE(cuMemSetMemPool(&first, MANAGED, pool), INVALID_VALUE);
  MUST_BE(cuMemSetMemPool(&second, PINNED, pool), INVALID_DEVICE);
  MUST_BE(cuMemSetMemPool(&first, PINNED, managed), INVALID_VALUE);
  MUST(cuMemSetMemPool(&first, PINNED, pool));
  MUST(cuMemGetMemPool(&is, &first, PINNED));
  MUST_BE(is == pool, 1);
  MUST(cuMemPoolDestroy(managed));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuMemGetMemPool(&is, &first, PINNED));
  MUST_BE(is == usual, 1);
}

// A pool that is used by several streams hands out what was freed first.
static void check_several_streams(void) {
  USE_STREAMS;
  USE_POOLS;
  const PoolProperties properties = {.type = PINNED, .location_type = DEVICE};
  CUmemoryPool pool;
  CUstream streams[2];
  CUdeviceptr data[3], again[3];
  MUST(cuMemPoolCreate(&pool, &properties));
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
  for (int i = 0; i < 3; ++i) MUST(cuMemAllocFromPoolAsync(&data[i], 64, pool, streams[i % 2]));
  for (int i = 0; i < 3; ++i) MUST(cuMemFreeAsync(data[i], streams[i % 2]));
  for (int i = 0; i < 2; ++i) MUST(cuStreamSynchronize(streams[i]));
  for (int i = 0; i < 3; ++i) {
    MUST(cuMemAllocFromPoolAsync(&again[i], 64, pool, streams[0]));
    MUST_BE(again[i] == data[i], 1);
  }
  for (int i = 0; i < 3; ++i) MUST(cuMemFreeAsync(again[i], streams[0]));
  MUST(cuStreamSynchronize(streams[0]));
  MUST(cuMemPoolDestroy(pool));
  for (int i = 0; i < 2; ++i) MUST(cuStreamDestroy(streams[i]));
}

int main(void) {
  start();
  check_limit();
  check_block_kept();
  check_no_limit();
  check_managed();
  check_managed_memory();
  check_places();
  check_several_streams();
  return 0;
}
