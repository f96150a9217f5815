// SPDX-License-Identifier: BSD-3-Clause
// Rule: Managed memory that was attached to a stream is free for others once the stream is
// destroyed.
// Source: cuda.h, cuStreamAttachMemAsync
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuStreamAttachMemAsync, 6000, CUstream, CUdeviceptr, size_t, unsigned);
  enum { GLOBAL = 1, SINGLE = 4 };
  CUstream stream, other;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuMemAllocManaged(&data, 64, GLOBAL));
  MUST(cuStreamAttachMemAsync(stream, data, 0, SINGLE));
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamDestroy(stream));
  MUST(cuMemsetD8Async(data, 9, 64, other));
  MUST(cuStreamSynchronize(other));
  MUST_BE(((unsigned char *)(uintptr_t)data)[63], 9);
  return 0;
}
