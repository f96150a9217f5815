// SPDX-License-Identifier: BSD-3-Clause
// An event orders what was recorded before it with what waits for it, and nothing else does between
// two non-blocking streams.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUdeviceptr data, copy;
  CUstream one, two, three;
  CUevent event, other;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemAlloc(&copy, 64));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuStreamCreate(&three, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventCreate(&other, 2));

  // Write and read, read and write, write and write race; two reads do not.
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, MUST(cuMemcpyDtoDAsync(copy, data, 64, one)); MUST(cuMemsetD8Async(data, 1, 64, two)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, MUST(cuMemcpyDtoDAsync(copy, data, 32, one));
        MUST(cuMemcpyDtoDAsync(copy + 32, data, 32, two)););

  // The edge, and what only looks like it.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, MUST(cuEventRecord(event, one)); MUST(cuMemsetD8Async(data, 1, 64, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuStreamWaitEvent(two, event, 0));
        MUST(cuEventRecord(event, one)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(other, one));
        MUST(cuEventRecord(event, three)); MUST(cuStreamWaitEvent(two, event, 0));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  // A wait has the state of its call: a later record changes nothing.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuEventRecord(event, three));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  // Through a third stream.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(three, event, 0)); MUST(cuEventRecord(other, three));
        MUST(cuStreamWaitEvent(two, other, 0)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  // The way back: the first stream may not write again while the second one reads.
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two));
        MUST(cuMemsetD8Async(data, 2, 64, one)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemcpyDtoDAsync(copy, data, 64, two));
        MUST(cuEventRecord(other, two)); MUST(cuStreamWaitEvent(one, other, 0));
        MUST(cuMemsetD8Async(data, 2, 64, one)););
  // Work that is done by the time of the wait was not ordered by that.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamSynchronize(three)); MUST(cuStreamWaitEvent(two, event, 0));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, two)););
  return 0;
}
