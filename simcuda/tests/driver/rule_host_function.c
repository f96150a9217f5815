// SPDX-License-Identifier: BSD-3-Clause
// Rule: A host function runs in its stream's order: after what came before, before what comes
// after.
// Source: cuda.h, cuLaunchHostFunc
#include "driver_test.h"

static unsigned char *host;
static unsigned char seen;

static void look(void *data) {
  seen = *host;
  *host = *(unsigned char *)data;
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  CUstream stream;
  CUdeviceptr data;
  unsigned char nine = 9, value = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemHostAlloc((void **)&host, 1, 0));
  *host = 0;
  MUST(cuMemsetD8Async(data, 7, 1, stream));
  MUST(cuMemcpyDtoHAsync(host, data, 1, stream));
  MUST(cuLaunchHostFunc(stream, look, &nine));
  MUST(cuMemcpyHtoDAsync(data, host, 1, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(seen, 7);
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 9);
  return 0;
}
