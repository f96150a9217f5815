// SPDX-License-Identifier: BSD-3-Clause
// What the host has waited for comes before all that it submits from then on, to any stream.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSynchronize, 2000, void);
  USE(cuEventElapsedTime, 2000, float *, CUevent, CUevent);
  CUdeviceptr data, copy;
  CUstream one, two, three;
  CUevent event, later;
  unsigned char bytes[64];
  float ms;
  OK(cuMemAlloc(&data, 64));
  OK(cuMemAlloc(&copy, 64));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuStreamCreate(&three, NON_BLOCKING));
  OK(cuEventCreate(&event, 0));
  OK(cuEventCreate(&later, 0));

#define WRITE OK(cuMemsetD8Async(data, 1, 64, one))
#define READ OK(cuMemcpyDtoDAsync(copy, data, 64, two))
  RACES(1, WRITE; READ;);
  RACES(0, WRITE; OK(cuStreamSynchronize(one)); READ;);
  RACES(1, WRITE; OK(cuStreamSynchronize(two)); READ;);
  RACES(0, WRITE; OK(cuCtxSynchronize()); READ;);
  RACES(0, WRITE; OK(cuEventRecord(event, one)); OK(cuEventSynchronize(event)); READ;);
  RACES(1, OK(cuEventRecord(event, one)); WRITE; OK(cuEventSynchronize(event)); READ;);
  // A query says so, too, once it says yes; and so does an elapsed time.
  RACES(0, WRITE; while (cuStreamQuery(one) == NOT_READY); READ;);
  RACES(0, WRITE; OK(cuEventRecord(event, one)); while (cuEventQuery(event) == NOT_READY); READ;);
  RACES(1, WRITE; while (cuStreamQuery(three) == NOT_READY); READ;);
  RACES(0, WRITE; OK(cuEventRecord(event, one)); OK(cuEventRecord(later, one));
        while (cuEventElapsedTime(&ms, event, later) == NOT_READY)(void) cuEventQuery(later);
        READ;);
  // The copy to pageable memory has arrived when it returns.
  RACES(0, WRITE; OK(cuMemcpyDtoDAsync(copy, data, 64, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(LEGACY, event, 0)); OK(cuMemcpyDtoH(bytes, copy, 64)); READ;);
  // The host waits for what another stream waited for.
  RACES(0, WRITE; OK(cuEventRecord(event, one)); OK(cuStreamWaitEvent(three, event, 0));
        OK(cuStreamSynchronize(three)); READ;);
  // What was submitted before the wait is not ordered by it.
  RACES(1, WRITE; READ; OK(cuStreamSynchronize(one)););
  return 0;
}
