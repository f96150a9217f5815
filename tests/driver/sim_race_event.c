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
  OK(cuMemAlloc(&data, 64));
  OK(cuMemAlloc(&copy, 64));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuStreamCreate(&three, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuEventCreate(&other, 2));

  // Write and read, read and write, write and write; two reads are none.
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, OK(cuMemcpyDtoDAsync(copy, data, 64, one)); OK(cuMemsetD8Async(data, 1, 64, two)););
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, OK(cuMemcpyDtoDAsync(copy, data, 32, one));
        OK(cuMemcpyDtoDAsync(copy + 32, data, 32, two)););

  // The edge, and what only looks like it.
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, OK(cuEventRecord(event, one)); OK(cuMemsetD8Async(data, 1, 64, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuStreamWaitEvent(two, event, 0));
        OK(cuEventRecord(event, one)); OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(other, one));
        OK(cuEventRecord(event, three)); OK(cuStreamWaitEvent(two, event, 0));
        OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  // A wait has the state of its call: a later record changes nothing.
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuEventRecord(event, three));
        OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  // Through a third stream.
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(three, event, 0)); OK(cuEventRecord(other, three));
        OK(cuStreamWaitEvent(two, other, 0)); OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  // The way back: the first stream may not write again while the second one reads.
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemcpyDtoDAsync(copy, data, 64, two));
        OK(cuMemsetD8Async(data, 2, 64, one)););
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemcpyDtoDAsync(copy, data, 64, two));
        OK(cuEventRecord(other, two)); OK(cuStreamWaitEvent(one, other, 0));
        OK(cuMemsetD8Async(data, 2, 64, one)););
  // Work that is done by the time of the wait was not ordered by that.
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamSynchronize(three)); OK(cuStreamWaitEvent(two, event, 0));
        OK(cuMemcpyDtoDAsync(copy, data, 64, two)););
  return 0;
}
