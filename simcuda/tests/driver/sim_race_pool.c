// SPDX-License-Identifier: BSD-3-Clause
// Stream-ordered memory is used after its allocation and before its free, in the order of streams.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  CUdeviceptr data, plain;
  CUstream one, two;
  CUevent event;
  MUST(cuMemAlloc(&plain, 64));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
#define ALLOCATE MUST(cuMemAllocAsync(&data, 64, one))
#define ORDER(from, to)             \
  MUST(cuEventRecord(event, from)); \
  MUST(cuStreamWaitEvent(to, event, 0))

  RACES(0, ALLOCATE; MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuMemFreeAsync(data, one)););
  // Before the allocation.
  RACES(1, ALLOCATE; MUST(cuMemsetD8Async(data, 1, 64, two)); MUST(cuStreamSynchronize(two));
        MUST(cuMemFreeAsync(data, one)););
  RACES(0, ALLOCATE; ORDER(one, two); MUST(cuMemsetD8Async(data, 1, 64, two)); ORDER(two, one);
        MUST(cuMemFreeAsync(data, one)););
  RACES(0, ALLOCATE; MUST(cuStreamSynchronize(one)); MUST(cuMemsetD8Async(data, 1, 64, two));
        MUST(cuMemFreeAsync(data, two)););
  // Freed while it is used.
  RACES(1, ALLOCATE; ORDER(one, two); MUST(cuMemsetD8Async(data, 1, 64, two));
        MUST(cuMemFreeAsync(data, one)););
  RACES(1, ALLOCATE; ORDER(one, two); MUST(cuMemcpyDtoDAsync(plain, data, 64, two));
        MUST(cuMemFreeAsync(data, one)););
  // After the free, ordered or not: such a call is refused, and a race.
  RACES(1, ALLOCATE; MUST(cuMemFreeAsync(data, one));
        MUST_BE(cuMemsetD8Async(data, 1, 64, one), INVALID_VALUE););
  RACES(1, ALLOCATE; MUST(cuMemFreeAsync(data, one)); MUST(cuStreamSynchronize(one));
        MUST_BE(cuMemcpyDtoDAsync(plain, data + 63, 1, two), INVALID_VALUE););
  RACES(0, ALLOCATE; MUST(cuMemFreeAsync(data, one)); MUST(cuStreamSynchronize(one));
        MUST_BE(cuMemcpyDtoDAsync(plain, data + 64, 1, two), INVALID_VALUE););
  // cuMemFree waits for nothing where the memory is a pool's.
  RACES(1, ALLOCATE; MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuMemFree(data)););
  RACES(0, ALLOCATE; MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuStreamSynchronize(one));
        MUST(cuMemFree(data)););
  // Memory that takes the place of another is no edge for anything else.
  RACES(1, ALLOCATE; MUST(cuMemsetD8Async(plain, 1, 64, one)); MUST(cuMemFreeAsync(data, one));
        MUST(cuMemAllocAsync(&data, 64, two)); MUST(cuMemsetD8Async(plain, 2, 64, two)););
  return 0;
}
