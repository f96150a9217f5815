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
  FIND_SIM(simcuda_busy);
  unsigned char bytes[64];
  float ms;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemAlloc(&copy, 64));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuStreamCreate(&three, NON_BLOCKING));
  MUST(cuEventCreate(&event, 0));
  MUST(cuEventCreate(&later, 0));

#define WRITE MUST(cuMemsetD8Async(data, 1, 64, one))
#define READ MUST(cuMemcpyDtoDAsync(copy, data, 64, two))
  RACES(1, WRITE; READ;);
  RACES(0, WRITE; MUST(cuStreamSynchronize(one)); READ;);
  RACES(1, WRITE; MUST(cuStreamSynchronize(two)); READ;);
  RACES(0, WRITE; MUST(cuCtxSynchronize()); READ;);
  RACES(0, WRITE; MUST(cuEventRecord(event, one)); MUST(cuEventSynchronize(event)); READ;);
  RACES(1, MUST(cuEventRecord(event, one)); WRITE; MUST(cuEventSynchronize(event)); READ;);
  // A query that returns success orders the host, too, and so does an elapsed time.
  RACES(0, WRITE; while (cuStreamQuery(one) == NOT_READY); READ;);
  RACES(0, WRITE; MUST(cuEventRecord(event, one)); while (cuEventQuery(event) == NOT_READY); READ;);
  RACES(1, WRITE; while (cuStreamQuery(three) == NOT_READY); READ;);
  // One that says no says nothing.
  RACES(1, MUST(simcuda_busy(one, 1000000000)); WRITE; MUST(cuEventRecord(event, one));
        MUST_BE(cuEventQuery(event), NOT_READY); READ;);
  RACES(1, MUST(simcuda_busy(one, 1000000000)); WRITE; MUST_BE(cuStreamQuery(one), NOT_READY);
        READ;);
  RACES(0, WRITE; MUST(cuEventRecord(event, one)); MUST(cuEventRecord(later, one));
        while (cuEventElapsedTime(&ms, event, later) == NOT_READY)(void) cuEventQuery(later);
        READ;);
  // A client that only asks for this gets it done, as by any query.
  RACES(0, WRITE; MUST(cuEventRecord(event, one)); MUST(cuEventRecord(later, one));
        while (cuEventElapsedTime(&ms, event, later) == NOT_READY) continue; READ;);
  // The copy to pageable memory has arrived when it returns.
  RACES(0, WRITE; MUST(cuMemcpyDtoDAsync(copy, data, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(LEGACY, event, 0)); MUST(cuMemcpyDtoH(bytes, copy, 64)); READ;);
  // The host waits for what another stream waited for.
  RACES(0, WRITE; MUST(cuEventRecord(event, one)); MUST(cuStreamWaitEvent(three, event, 0));
        MUST(cuStreamSynchronize(three)); READ;);
  // The wait does not order what was submitted before it.
  RACES(1, WRITE; READ; MUST(cuStreamSynchronize(one)););
  return 0;
}
