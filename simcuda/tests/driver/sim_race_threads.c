// SPDX-License-Identifier: BSD-3-Clause
// All threads have one clock: what orders them is not known to a driver. So work that one thread
// has waited for comes before what another one submits.
#include <pthread.h>

#include "race_test.h"

static CUcontext context;
static CUdeviceptr data;
static CUstream stream;
static int waits;

static void *write_data(void *unused) {
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE_MEMORY;
  USE_STREAMS;
  MUST(cuCtxSetCurrent(context));
  MUST(cuMemsetD8Async(data, 1, 64, stream));
  if (waits) MUST(cuStreamSynchronize(stream));
  return unused;
}

static void in_a_thread(int waits_for_it) {
  pthread_t thread;
  waits = waits_for_it;
  MUST_BE(pthread_create(&thread, NULL, write_data, NULL), 0);
  MUST_BE(pthread_join(thread, NULL), 0);
}

static void *write_per_thread(void *unused) {
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE_MEMORY;
  MUST(cuCtxSetCurrent(context));
  MUST(cuMemsetD8Async(data, 1, 64, PER_THREAD));
  return unused;
}

int main(void) {
  context = start_races();
  USE_MEMORY;
  USE_STREAMS;
  CUstream other;
  CUdeviceptr copy;
  pthread_t thread;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemAlloc(&copy, 64));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));

  RACES(0, in_a_thread(1); MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  // To join a thread is not to wait for its stream.
  RACES(1, in_a_thread(0); MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  RACES(0, in_a_thread(0); MUST(cuMemcpyDtoDAsync(copy, data, 64, stream)););
  RACES(0, in_a_thread(0); MUST(cuStreamSynchronize(stream));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, other)););
  // Each thread has a per-thread stream of its own.
  RACES(1, MUST_BE(pthread_create(&thread, NULL, write_per_thread, NULL), 0);
        MUST_BE(pthread_join(thread, NULL), 0);
        MUST(cuMemcpyDtoDAsync(copy, data, 64, PER_THREAD)););
  return 0;
}
