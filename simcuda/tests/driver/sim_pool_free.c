// SPDX-License-Identifier: BSD-3-Clause
// A stream-ordered free happens in the stream: until then the pool counts the memory, but nobody
// may name it in a new call.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuMemPoolGetAttribute, 11020, CUmemoryPool, int, void *);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr data;
  uint64_t used = 0;
  MUST(cuDeviceGetDefaultMemPool(&pool, 0));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocAsync(&data, 1024, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuMemFreeAsync(data, stream), INVALID_VALUE);
  MUST_BE(cuMemsetD8Async(data, 0, 1, stream), INVALID_VALUE);
  MUST(cuMemPoolGetAttribute(pool, 7, &used));
  MUST_BE(used, 1024);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolGetAttribute(pool, 7, &used));
  MUST_BE(used, 0);
  return 0;
}
