// SPDX-License-Identifier: BSD-3-Clause
// Rule: Where SYNC_MEMOPS is set, the blocking forms of memset and copies have been done when they
// return, and setting it waits for those that went on; the asynchronous forms go on as ever.
// Source: cuda.h, cuPointerSetAttribute
#include "driver_test.h"

enum { SIZE = 4096, SYNC_MEMOPS = 6 };

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuMemcpyDtoD, 3020, CUdeviceptr, CUdeviceptr, size_t);
  USE(cuPointerSetAttribute, 6000, const void *, int, CUdeviceptr);
  static unsigned char bytes[SIZE];
  const unsigned on = 1, off = 0;
  CUdeviceptr data, other;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&other, SIZE));

  MUST(cuPointerSetAttribute(&on, SYNC_MEMOPS, data));
  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuMemsetD8(data, 1, SIZE));
  MUST(cuStreamQuery(LEGACY));
  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuMemcpyDtoD(other, data, SIZE));
  MUST(cuStreamQuery(LEGACY));
  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuMemcpyDtoD(data, other, SIZE));
  MUST(cuStreamQuery(LEGACY));

  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuMemcpyHtoD(data, bytes, SIZE));  // which may go on from pageable memory otherwise
  MUST(cuStreamQuery(LEGACY));
  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST(cuStreamQuery(LEGACY));

  MUST(cuPointerSetAttribute(&off, SYNC_MEMOPS, data));
  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuMemsetD8(other, 2, SIZE));
  MUST(cuPointerSetAttribute(&on, SYNC_MEMOPS, other));
  MUST(cuStreamQuery(LEGACY));
  HOLD_UP_FOR(LEGACY, 50);
  MUST(cuPointerSetAttribute(&off, SYNC_MEMOPS, other));
  MUST(cuMemcpyDtoD(data, other, SIZE));
  MUST(cuPointerSetAttribute(&on, SYNC_MEMOPS, data));
  MUST(cuStreamQuery(LEGACY));

  HOLD_UP(LEGACY);
  MUST(cuMemsetD8Async(data, 3, SIZE, LEGACY));
  MUST(cuMemcpyDtoDAsync(other, data, SIZE, LEGACY));
  MUST_BE(cuStreamQuery(LEGACY), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemFree(other));
  MUST(cuMemFree(data));
  return 0;
}
