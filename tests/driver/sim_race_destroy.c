// SPDX-License-Identifier: BSD-3-Clause
// A destroyed stream's work goes on, and nothing comes after it that does not wait for it: not even
// a new stream that takes its place. Streams that come and go cost no memory for ever.
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
  OK(cuMemAlloc(&data, 64));
  OK(cuMemAlloc(&copy, 64));
  OK(cuEventCreate(&event, 2));

#define WRITE_AND_DESTROY                    \
  OK(cuStreamCreate(&stream, NON_BLOCKING)); \
  OK(cuMemsetD8Async(data, 1, 64, stream));  \
  OK(cuEventRecord(event, stream));          \
  OK(cuStreamDestroy(stream));               \
  OK(cuStreamCreate(&other, NON_BLOCKING))
  RACES(1, WRITE_AND_DESTROY; OK(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, WRITE_AND_DESTROY; OK(cuStreamWaitEvent(other, event, 0));
        OK(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, WRITE_AND_DESTROY; OK(cuCtxSynchronize());
        OK(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, WRITE_AND_DESTROY; OK(cuEventSynchronize(event));
        OK(cuMemcpyDtoDAsync(copy, data, 64, other)););
  // A waited-for stream's line of time is used again, and still orders what it ordered.
  RACES(
      1, for (int i = 0; i < 3000; ++i) {
        OK(cuStreamCreate(&stream, NON_BLOCKING));
        OK(cuMemsetD8Async(data, 1, 64, stream));
        if (i < 2999) OK(cuStreamSynchronize(stream));
        OK(cuStreamDestroy(stream));
      } OK(cuMemcpyDtoDAsync(copy, data, 64, other)););
  return 0;
}
