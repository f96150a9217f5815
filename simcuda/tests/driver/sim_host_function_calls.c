// SPDX-License-Identifier: BSD-3-Clause
// A host function may not call the driver, and is told so whatever it calls (a driver may answer
// some calls, as an H200's does cuStreamQuery and cuEventQuery, and others never return); it runs
// with no lock of the driver held, so that a thread which it waits for can call; and a call that
// does not block does not wait for it.
#include "driver_test.h"

static CUresult inside = SUCCESS;
static int entered, leave;  // set by one thread, read by another
static CUresult (*stream_query)(CUstream);

static void ask(void *data) {
  __atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
  inside = stream_query(data);
  while (!__atomic_load_n(&leave, __ATOMIC_ACQUIRE)) usleep(1000);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  CUstream stream;
  CUdeviceptr data;
  stream_query = cuStreamQuery;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuLaunchHostFunc(stream, ask, stream));
  while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE)) cuStreamQuery(stream);
  MUST(cuMemAlloc(&data, 1));  // not blocked by the function that runs
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  __atomic_store_n(&leave, 1, __ATOMIC_RELEASE);
  MUST(cuStreamSynchronize(stream));
  MUST_BE(inside, 800);
  return 0;
}
