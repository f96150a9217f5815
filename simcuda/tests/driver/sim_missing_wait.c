// SPDX-License-Identifier: BSD-3-Clause
// The lazy schedule shows every forgotten wait: two accesses of which one writes, on any two
// streams, give the wrong value unless something orders them, whatever is waited for afterwards.
#include "driver_test.h"

enum { LEGACY_STREAM, OWN_STREAM, BLOCKING, OTHER_BLOCKING, FREE, OTHER_FREE, STREAMS };
enum { NO_EVENT, EVENT, RECORD_TOO_EARLY, WAIT_TOO_LATE, OTHER_RECORD, EDGES };
enum { WRITE_READ, READ_WRITE, WRITE_WRITE, HAZARDS };
enum { SECOND_STREAM, WHOLE_CONTEXT, AWAITED };

static int is_ordered(int first, int second, int edge) {
  if (first == second || edge == EVENT) return 1;
  const int free = first >= FREE || second >= FREE;
  return !free && (first == LEGACY_STREAM || second == LEGACY_STREAM);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSynchronize, 2000, void);
  CUstream streams[STREAMS] = {LEGACY, PER_THREAD}, other;
  CUdeviceptr data, copy;
  for (int s = BLOCKING; s < STREAMS; ++s)
    MUST(cuStreamCreate(&streams[s], s < FREE ? 0 : NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemAlloc(&copy, 1));

  for (int first = 0; first < STREAMS; ++first)
    for (int second = 0; second < STREAMS; ++second)
      for (int edge = 0; edge < EDGES; ++edge)
        for (int hazard = 0; hazard < HAZARDS; ++hazard)
          for (int awaited = 0; awaited < AWAITED; ++awaited) {
            const CUstream one = streams[first], two = streams[second];
            CUevent event;
            unsigned char value = 0;
            MUST(cuEventCreate(&event, 2));
            MUST(cuMemsetD8Async(data, 1, 1, LEGACY));
            MUST(cuCtxSynchronize());

            if (edge == RECORD_TOO_EARLY) MUST(cuEventRecord(event, one));
            if (hazard == READ_WRITE)
              MUST(cuMemcpyDtoDAsync(copy, data, 1, one));
            else
              MUST(cuMemsetD8Async(data, 2, 1, one));
            if (edge != NO_EVENT && edge != RECORD_TOO_EARLY) MUST(cuEventRecord(event, one));
            if (edge == OTHER_RECORD) MUST(cuEventRecord(event, other));
            if (edge != NO_EVENT && edge != WAIT_TOO_LATE) MUST(cuStreamWaitEvent(two, event, 0));
            if (hazard == WRITE_READ)
              MUST(cuMemcpyDtoDAsync(copy, data, 1, two));
            else
              MUST(cuMemsetD8Async(data, 3, 1, two));
            if (edge == WAIT_TOO_LATE) MUST(cuStreamWaitEvent(two, event, 0));

            if (awaited == SECOND_STREAM) MUST(cuStreamSynchronize(two));
            MUST(cuCtxSynchronize());
            MUST(cuMemcpyDtoH(&value, hazard == WRITE_WRITE ? data : copy, 1));
            MUST(cuEventDestroy(event));
            static const int right[] = {2, 1, 3}, wrong[] = {1, 3, 2};
            const int expected = is_ordered(first, second, edge) ? right[hazard] : wrong[hazard];
            if (value != expected)
              fprintf(stderr, "streams %d and %d, edge %d, hazard %d, awaited %d\n", first, second,
                      edge, hazard, awaited);
            MUST_BE(value, expected);
          }
  return 0;
}
