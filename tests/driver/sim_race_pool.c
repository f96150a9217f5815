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
  OK(cuMemAlloc(&plain, 64));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
#define ALLOCATE OK(cuMemAllocAsync(&data, 64, one))
#define ORDER(from, to)           \
  OK(cuEventRecord(event, from)); \
  OK(cuStreamWaitEvent(to, event, 0))

  RACES(0, ALLOCATE; OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuMemFreeAsync(data, one)););
  // Before the allocation.
  RACES(1, ALLOCATE; OK(cuMemsetD8Async(data, 1, 64, two)); OK(cuStreamSynchronize(two));
        OK(cuMemFreeAsync(data, one)););
  RACES(0, ALLOCATE; ORDER(one, two); OK(cuMemsetD8Async(data, 1, 64, two)); ORDER(two, one);
        OK(cuMemFreeAsync(data, one)););
  RACES(0, ALLOCATE; OK(cuStreamSynchronize(one)); OK(cuMemsetD8Async(data, 1, 64, two));
        OK(cuMemFreeAsync(data, two)););
  // Freed while it is used.
  RACES(1, ALLOCATE; ORDER(one, two); OK(cuMemsetD8Async(data, 1, 64, two));
        OK(cuMemFreeAsync(data, one)););
  RACES(1, ALLOCATE; ORDER(one, two); OK(cuMemcpyDtoDAsync(plain, data, 64, two));
        OK(cuMemFreeAsync(data, one)););
  // After the free, ordered or not: such a call is refused, and a race.
  RACES(1, ALLOCATE; OK(cuMemFreeAsync(data, one));
        EXPECT(cuMemsetD8Async(data, 1, 64, one), INVALID_VALUE););
  RACES(1, ALLOCATE; OK(cuMemFreeAsync(data, one)); OK(cuStreamSynchronize(one));
        EXPECT(cuMemcpyDtoDAsync(plain, data + 63, 1, two), INVALID_VALUE););
  RACES(0, ALLOCATE; OK(cuMemFreeAsync(data, one)); OK(cuStreamSynchronize(one));
        EXPECT(cuMemcpyDtoDAsync(plain, data + 64, 1, two), INVALID_VALUE););
  // cuMemFree waits for nothing where the memory is a pool's.
  RACES(1, ALLOCATE; OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuMemFree(data)););
  RACES(0, ALLOCATE; OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuStreamSynchronize(one));
        OK(cuMemFree(data)););
  // Memory that takes the place of another is no edge for anything else.
  RACES(1, ALLOCATE; OK(cuMemsetD8Async(plain, 1, 64, one)); OK(cuMemFreeAsync(data, one));
        OK(cuMemAllocAsync(&data, 64, two)); OK(cuMemsetD8Async(plain, 2, 64, two)););
  return 0;
}
