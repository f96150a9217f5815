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
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAllocAsync(&data, 1024, stream));
  OK(cuMemFreeAsync(data, stream));
  EXPECT(cuMemFreeAsync(data, stream), INVALID_VALUE);
  EXPECT(cuMemsetD8Async(data, 0, 1, stream), INVALID_VALUE);
  OK(cuMemPoolGetAttribute(pool, 7, &used));
  EXPECT(used, 1024);
  OK(cuStreamSynchronize(stream));
  OK(cuMemPoolGetAttribute(pool, 7, &used));
  EXPECT(used, 0);
  return 0;
}
