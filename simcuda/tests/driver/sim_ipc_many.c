// SPDX-License-Identifier: BSD-3-Clause
// Much is shared at once: more records than are remembered, as many pools as there is room for.
#include "simcuda.h"

#include "processes.h"

// More than 256 pending records; one event can have at most 64.
static void check_records(void) {
  USE_EVENTS;
  USE_STREAMS;
  FIND_SIM(simcuda_pending);
  enum { EVENTS = 5, RECORDS = 60 };
  CUstream stream;
  CUevent events[EVENTS];
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < EVENTS; ++i) MUST(cuEventCreate(&events[i], INTERPROCESS | DISABLE_TIMING));
  for (int i = 0; i < EVENTS * RECORDS; ++i) MUST(cuEventRecord(events[i % EVENTS], stream));
  MUST_BE(simcuda_pending(), EVENTS * RECORDS);
  MUST_BE(cuEventQuery(events[0]), NOT_READY);
  MUST(cuStreamSynchronize(stream));
  for (int i = 0; i < EVENTS * RECORDS; ++i) MUST(cuEventRecord(events[i % EVENTS], stream));
  MUST(cuEventSynchronize(events[EVENTS - 1]));
  for (int i = 0; i < EVENTS; ++i) {
    MUST(cuEventQuery(events[i]));
    MUST(cuEventDestroy(events[i]));
  }
  MUST(cuStreamDestroy(stream));
}

static void check_pools(void) {
  USE_SHARED_POOLS;
  enum { MOST = 1024 };
  const PoolProperties properties = {
      .type = 1, .handles = POSIX_FILE_DESCRIPTOR, .location_type = 1};
  static CUmemoryPool pools[MOST + 1];
  int file = -1;
  for (int i = 0; i <= MOST; ++i) MUST(cuMemPoolCreate(&pools[i], &properties));
  for (int i = 0; i < MOST; ++i) {
    MUST(cuMemPoolExportToShareableHandle(&file, pools[i], POSIX_FILE_DESCRIPTOR, 0));
    close(file);
  }
  MUST_BE(cuMemPoolExportToShareableHandle(&file, pools[MOST], POSIX_FILE_DESCRIPTOR, 0),
          OUT_OF_MEMORY);
  MUST(cuMemPoolDestroy(pools[1]));  // whose place it takes
  MUST(cuMemPoolExportToShareableHandle(&file, pools[MOST], POSIX_FILE_DESCRIPTOR, 0));
  close(file);
  pools[1] = pools[MOST];
  for (int i = 0; i < MOST; ++i) MUST(cuMemPoolDestroy(pools[i]));
}

int main(void) {
  start();
  check_records();
  check_pools();
  return 0;
}
