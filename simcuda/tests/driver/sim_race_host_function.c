// SPDX-License-Identifier: BSD-3-Clause
// A host function comes at its place in the stream, and what it has done the client may know of
// once it has returned: so it returns here no earlier than it is to.
#include <stdatomic.h>

#include "race_test.h"

enum { READ, WRITE };
static atomic_int calls, may_go, begun;

static void touch(void *memory) {
  begun = 1;
  while (!may_go) usleep(100);
  MUST(sim.host_access(memory, 64, WRITE));
  ++calls;
}

static void await_call(void) {  // without a call that would order anything
  while (!calls) usleep(100);
}

static void reset(void *unused) {
  (void)unused;
  sim.reset();
}

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  FIND_SIM(simcuda_pending);
  unsigned char *locked;
  CUdeviceptr data;
  CUstream one, two;
  CUevent event;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemHostAlloc((void **)&locked, 64, 0));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  may_go = 1;

  RACES(0, MUST(cuMemcpyDtoHAsync(locked, data, 64, one));
        MUST(cuLaunchHostFunc(one, touch, locked)); MUST(cuStreamSynchronize(one));
        MUST(sim.host_access(locked, 64, READ)););
  // Against another stream, whichever of them is first, and whatever is done by then.
  RACES(1, MUST(cuMemcpyDtoHAsync(locked, data, 64, two));
        MUST(cuLaunchHostFunc(one, touch, locked)); MUST(cuStreamSynchronize(one)););
#define LAUNCH \
  may_go = 0;  \
  MUST(cuLaunchHostFunc(one, touch, locked))
  RACES(1, LAUNCH; MUST(cuMemcpyDtoHAsync(locked, data, 64, two)); MUST(cuStreamSynchronize(two));
        may_go = 1; MUST(cuStreamSynchronize(one)););
  RACES(0, LAUNCH; MUST(cuEventRecord(event, one)); MUST(cuStreamWaitEvent(two, event, 0));
        MUST(cuMemcpyDtoHAsync(locked, data, 64, two)); may_go = 1;
        MUST(cuStreamSynchronize(two)););
  // The stream goes on: a later use in it is not the function's.
  RACES(0, LAUNCH; MUST(cuMemcpyDtoHAsync(locked, data, 64, one)); may_go = 1;
        MUST(cuStreamSynchronize(one)););
  // The client waits for the function itself, and not for its return.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); LAUNCH; MUST(cuEventRecord(event, one));
        (void)cuEventQuery(event); (void)cuEventQuery(event); calls = 0; may_go = 1; await_call();
        MUST(cuMemsetD8Async(data, 2, 64, two)););
  // So it does, without a call, for what the function itself has done, once that is done.
  RACES(0, LAUNCH; MUST(cuEventRecord(event, one)); (void)cuEventQuery(event);
        (void)cuEventQuery(event); may_go = 1; while (simcuda_pending()) usleep(100);
        MUST(sim.host_access(locked, 64, READ)););
  // It comes after other streams, too, where the host has seen its own up to there.
  CUstream blocking;
  MUST(cuStreamCreate(&blocking, 0));
  RACES(0, begun = may_go = 0; MUST(cuEventRecord(event, LEGACY)); MUST(cuEventSynchronize(event));
        MUST(cuMemsetD8Async(data, 1, 64, blocking)); MUST(cuLaunchHostFunc(LEGACY, touch, locked));
        MUST(cuEventRecord(event, LEGACY)); (void)cuEventQuery(event); (void)cuEventQuery(event);
        while (!begun) usleep(100); MUST(cuMemsetD8Async(data, 2, 64, two)); may_go = 1;);
  // A function that is waited for cannot wait for all.
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuMemsetD8Async(data, 2, 64, two));
        MUST(cuLaunchHostFunc(one, reset, NULL)); MUST(cuStreamSynchronize(one)););
  return 0;
}
