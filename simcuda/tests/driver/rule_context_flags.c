// SPDX-License-Identifier: BSD-3-Clause
// Rule: A context's flags can be set anew; with SYNC_MEMOPS, calls that copy and set memory
// wait for what they do.
// Source: cuda.h, cuCtxSetFlags and CU_CTX_SYNC_MEMOPS
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuCtxSetFlags, 12010, unsigned);
  USE(cuCtxGetFlags, 7000, unsigned *);
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuProfilerStart, 4000, void);
  USE(cuProfilerStop, 4000, void);
  USE_STREAMS;
  enum { SYNC_MEMOPS = 0x80, SPIN = 1, YIELD = 2, SIZE = 1 << 16 };
  CUdeviceptr data;
  unsigned flags = 0;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuCtxSetFlags(SYNC_MEMOPS | SPIN));
  MUST(cuCtxGetFlags(&flags));
  MUST_BE(flags & (SYNC_MEMOPS | SPIN), SYNC_MEMOPS | SPIN);
  MUST(cuMemsetD8(data, 1, SIZE));
  MUST(cuStreamQuery(LEGACY));  // nothing is left to be done
  MUST_BE(cuCtxSetFlags(0x10000), INVALID_VALUE);
  MUST_BE(cuCtxSetFlags(SPIN | YIELD), INVALID_VALUE);
  MUST(cuCtxSetFlags(0));
  MUST(cuProfilerStart());
  MUST(cuProfilerStop());
  MUST(cuMemFree(data));
  return 0;
}
