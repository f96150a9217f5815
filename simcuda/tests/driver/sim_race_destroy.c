// SPDX-License-Identifier: BSD-3-Clause
// A destroyed stream's work goes on, and only work that waits for it comes after it, also if a new
// stream takes its place. Destroyed streams do not use more and more memory.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSynchronize, 2000, void);
  CUdeviceptr data, copy;
  CUstream stream, other;
  CUevent event;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemAlloc(&copy, 64));
  MUST(cuEventCreate(&event, 2));

#define WRITE_AND_DESTROY                      \
  MUST(cuStreamCreate(&stream, NON_BLOCKING)); \
  MUST(cuMemsetD8Async(data, 1, 64, stream));  \
  MUST(cuEventRecord(event, stream));          \
  MUST(cuStreamDestroy(stream));               \
  MUST(cuStreamCreate(&other, NON_BLOCKING))
  RACES(1, WRITE_AND_DESTROY; MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, WRITE_AND_DESTROY; MUST(cuStreamWaitEvent(other, event, 0));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, WRITE_AND_DESTROY; MUST(cuCtxSynchronize());
        MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, WRITE_AND_DESTROY; MUST(cuEventSynchronize(event));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  // A waited-for stream's line of time is used again, and still orders what it ordered.
  RACES(
      1, for (int i = 0; i < 3000; ++i) {
        MUST(cuStreamCreate(&stream, NON_BLOCKING));
        MUST(cuMemsetD8Async(data, 1, 64, stream));
        if (i < 2999) MUST(cuStreamSynchronize(stream));
        MUST(cuStreamDestroy(stream));
      } MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  return 0;
}
