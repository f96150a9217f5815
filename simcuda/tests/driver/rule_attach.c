// SPDX-License-Identifier: BSD-3-Clause
// Rule: Managed memory may be attached to all streams, to the host, and to a single stream, from
// that one; the manual forbids it of the NULL stream.
// Source: cuda.h, cuStreamAttachMemAsync; the legacy stream is to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuStreamAttachMemAsync, 6000, CUstream, CUdeviceptr, size_t, unsigned);
  enum { GLOBAL = 1, HOST = 2, SINGLE = 4 };
  CUstream stream;
  CUdeviceptr managed;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocManaged(&managed, 64, GLOBAL));
  MUST(cuStreamAttachMemAsync(stream, managed, 0, SINGLE));
  MUST(cuStreamAttachMemAsync(stream, managed, 0, HOST));
  MUST(cuStreamAttachMemAsync(stream, managed, 64, GLOBAL));
  MUST(cuStreamAttachMemAsync(LEGACY, managed, 0, GLOBAL));
  FOUND_STATUS("to the legacy stream, by its name",
               cuStreamAttachMemAsync(LEGACY, managed, 0, SINGLE), SUCCESS);
  MUST_BE(cuStreamAttachMemAsync(NULL, managed, 0, SINGLE), INVALID_VALUE);
  MUST_BE(cuStreamAttachMemAsync(stream, managed, 0, 3), INVALID_VALUE);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFree(managed));
  return 0;
}
