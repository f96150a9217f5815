// SPDX-License-Identifier: BSD-3-Clause
// Which of two pieces of work comes before the other is told by what orders them, whatever ran
// already; and what was forgotten leaves no mark.
#include "race_test.h"

static __typeof__(simcuda_last_work) *last_work;
static __typeof__(simcuda_ordered) *ordered;
static __typeof__(simcuda_forget) *forget;

static void *own_last_work(void *mark) {
  *(uint64_t *)mark = last_work();
  return NULL;
}

int main(void) {
  start_races();
  *(void **)&last_work = dlsym(library, "simcuda_last_work");
  *(void **)&ordered = dlsym(library, "simcuda_ordered");
  *(void **)&forget = dlsym(library, "simcuda_forget");
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUstream a, b, blocking;
  CUevent event;
  CUdeviceptr data;
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(cuStreamCreate(&blocking, 0));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST_BE(last_work(), 0);

  MUST(cuMemsetD8Async(data, 1, 1, a));
  const uint64_t first = last_work();
  MUST_HOLD(first);
  MUST_BE(last_work(), first);
  uint64_t of_thread = first;
  in_another_thread(own_last_work, &of_thread);
  MUST_BE(of_thread, 0);
  MUST(cuMemsetD8Async(data, 2, 1, b));
  const uint64_t beside = last_work();
  MUST_BE(ordered(first, beside), 0);
  MUST_BE(ordered(beside, first), 0);
  MUST_BE(ordered(first, first), 0);
  MUST(cuEventRecord(event, a));
  MUST(cuStreamWaitEvent(b, event, 0));
  MUST(cuMemsetD8Async(data, 3, 1, b));
  const uint64_t after = last_work();
  MUST_BE(ordered(first, after), 1);
  MUST_BE(ordered(after, first), 0);
  MUST_BE(ordered(beside, after), 1);

  // Blocking streams and the legacy stream need no event.
  MUST(cuMemsetD8Async(data, 4, 1, LEGACY));
  const uint64_t legacy = last_work();
  MUST(cuMemsetD8Async(data, 5, 1, blocking));
  MUST_BE(ordered(legacy, last_work()), 1);
  MUST_BE(ordered(after, last_work()), 0);

  // Work that the host has waited for comes before all submitted later, and before its frees.
  MUST(cuStreamSynchronize(b));
  MUST(cuMemsetD8Async(data, 6, 1, LEGACY));
  MUST_BE(ordered(after, last_work()), 1);
  MUST(cuMemFree(data));
  MUST_BE(ordered(after, last_work()), 1);

  MUST_BE(ordered(0, first), -1);
  MUST_BE(ordered(first, 0), -1);
  MUST_BE(ordered(first, last_work() + 1), -1);
  MUST_HOLD(sim.races() > 0);
  USE_SIM(uint64_t, simcuda_calls, const char *);
  MUST_BE(simcuda_calls("cuStreamCreate"), 3);
  forget();
  MUST_BE(simcuda_calls("cuStreamCreate"), 3);
  MUST_BE(sim.races(), 0);
  MUST_BE(ordered(first, after), -1);
  return 0;
}
