// SPDX-License-Identifier: BSD-3-Clause
// Rule: A pool of managed memory gives, in the order of a stream, memory that the host can use.
// Source: cuda.h, cuMemPoolCreate
#include "attributes.h"

int main(void) {
  start();
  USE(cuDriverGetVersion, 2020, int *);
  int version = 0;
  MUST(cuDriverGetVersion(&version));
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
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < 3; ++i) {
    MUST(cuMemAllocFromPoolAsync(&data, SIZE, pool, stream));
    MUST(cuMemsetD8Async(data, (unsigned char)(i + 1), SIZE, stream));
    MUST(cuStreamSynchronize(stream));
    unsigned char *host = (unsigned char *)(uintptr_t)data;
    MUST_BE(host[SIZE - 1], i + 1);
    host[0] = 77;
    unsigned char byte = 0;
    MUST(cuMemcpyDtoH(&byte, data, 1));
    MUST_BE(byte, 77);
    const Attributes a = attributes_of(data);
    MUST_BE(a.of[IS_MANAGED], 1);
    MUST_BE(a.of[IPC_CAPABLE], 0);
    MUST_BE(a.of[MEMPOOL_HANDLE] == address_of(pool), 1);
    MUST(cuMemFreeAsync(data, stream));
  }
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemPoolDestroy(pool));
  return 0;
}
