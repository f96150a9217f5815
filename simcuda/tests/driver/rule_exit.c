// SPDX-License-Identifier: BSD-3-Clause
// Rule: With work pending and calls from exit handlers, the process still ends.
// Source: assumed, after what clients do; to be checked on a GPU
#include "driver_test.h"

static CUdeviceptr data;
static CUresult (*mem_free)(CUdeviceptr);

static void late(void) { (void)mem_free(data); }
__attribute__((destructor)) static void later(void) {
  if (mem_free) (void)mem_free(data);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  CUstream stream;
  mem_free = cuMemFree;
  atexit(late);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  return 0;
}
