// SPDX-License-Identifier: BSD-3-Clause
// Rule: The legacy stream orders the per-thread streams of other threads, too.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

static CUcontext context;
static CUdeviceptr data;

static void *fill(void *unused) {
  USE_MEMORY;
  USE_GATE;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  MUST(cuCtxSetCurrent(context));
  HOLD_UP(PER_THREAD);
  MUST(cuMemsetD8Async(data, 2, 1, PER_THREAD));
  return unused;
}

int main(void) {
  context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxSynchronize, 2000, void);
  CUdeviceptr copy;
  unsigned char value = 0;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));
  MUST(cuMemsetD8Async(data, 1, 1, LEGACY));
  MUST(cuCtxSynchronize());
  in_another_thread(fill, NULL);
  MUST(cuMemcpyDtoDAsync(copy, data, 1, LEGACY));
  open_gate();
  MUST(cuCtxSynchronize());
  MUST(cuMemcpyDtoH(&value, copy, 1));
  FOUND("the copy came after the other thread's work", value == 2, 1);
  return 0;
}
