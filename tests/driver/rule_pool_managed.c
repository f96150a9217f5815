// SPDX-License-Identifier: BSD-3-Clause
// Rule: A pool of managed memory gives, in the order of a stream, memory that the host can use.
// Source: cuda.h, cuMemPoolCreate
#include "attributes.h"

int main(void) {
  start();
  USE(cuDriverGetVersion, 2020, int *);
  int version = 0;
  OK(cuDriverGetVersion(&version));
  if (version < 13000) {
    printf("skipped: this driver has no pools of managed memory\n");
    return 77;
  }
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  enum { MANAGED = 2, DEVICE = 1, SIZE = 1 << 16 };
  const PoolProperties properties = {.type = MANAGED, .location_type = DEVICE};
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr data;
  OK(cuMemPoolCreate(&pool, &properties));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < 3; ++i) {
    OK(cuMemAllocFromPoolAsync(&data, SIZE, pool, stream));
    OK(cuMemsetD8Async(data, (unsigned char)(i + 1), SIZE, stream));
    OK(cuStreamSynchronize(stream));
    unsigned char *host = (unsigned char *)(uintptr_t)data;
    EXPECT(host[SIZE - 1], i + 1);
    host[0] = 77;
    unsigned char byte = 0;
    OK(cuMemcpyDtoH(&byte, data, 1));
    EXPECT(byte, 77);
    const Attributes a = attributes_of(data);
    EXPECT(a.of[IS_MANAGED], 1);
    EXPECT(a.of[IPC_CAPABLE], 0);
    EXPECT(a.of[MEMPOOL_HANDLE] == address_of(pool), 1);
    OK(cuMemFreeAsync(data, stream));
  }
  OK(cuStreamSynchronize(stream));
  OK(cuMemPoolDestroy(pool));
  return 0;
}
