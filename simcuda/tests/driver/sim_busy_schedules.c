// SPDX-License-Identifier: BSD-3-Clause
// A busy stream is busy under every schedule, behind other work as well, and until it has been
// quiet for a while where nobody asks.
#include <sys/wait.h>

#include "simcuda.h"

#include "driver_test.h"

enum { MILLISECOND = 1000000 };

static int calls;

static void count_call(void *unused) {
  (void)unused;
  __atomic_store_n(&calls, calls + 1, __ATOMIC_SEQ_CST);
}

static void await_call(int number) {  // the test's time limit is the failure
  while (__atomic_load_n(&calls, __ATOMIC_SEQ_CST) < number) usleep(1000);
}

// Two that are busy in one stream, behind a host function and before another.
static void behind_each_other(void) {
  USE_STREAMS;
  USE_GATE;
  FIND_SIM(simcuda_busy);
  CUstream stream, other;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  HOLD_UP(stream);
  for (int i = 0; i < 2; ++i) MUST(simcuda_busy(stream, MILLISECOND));
  MUST(cuLaunchHostFunc(stream, count_call, NULL));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST_BE(calls, 0);  // from here on it may run at any time: what was busy has been asked for
  open_gate();
  MUST(simcuda_busy(other, MILLISECOND));
  MUST(simcuda_busy(other, 3 * MILLISECOND));
  MUST_BE(cuStreamQuery(other), NOT_READY);
  while (cuStreamQuery(stream) == NOT_READY) usleep(1000);
  MUST_BE(calls, 1);
  while (cuStreamQuery(other) == NOT_READY) usleep(1000);
  MUST(simcuda_busy(stream, MILLISECOND));
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamDestroy(other));
  MUST(cuStreamDestroy(stream));
}

// Nobody asks: the quiet time ends what is busy.
static void by_itself(void) {
  USE_STREAMS;
  USE_GATE;
  FIND_SIM(simcuda_busy);
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(simcuda_busy(stream, 3600ull * 1000 * MILLISECOND));
  MUST(cuLaunchHostFunc(stream, count_call, NULL));
  await_call(1);
}

// A host function that nothing holds up is due before the quiet time, which streams that are busy
// and work that is asked for have to wait for.
static void host_function_first(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  FIND_SIM(simcuda_busy);
  enum { STREAMS = 8 };
  CUdeviceptr data;
  CUstream streams[STREAMS], free_stream;
  MUST(cuMemAlloc(&data, STREAMS));
  MUST(cuStreamCreate(&free_stream, NON_BLOCKING));
  for (CUdeviceptr i = 0; i < STREAMS; ++i) {
    MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
    MUST(simcuda_busy(streams[i], 3 * MILLISECOND));
    MUST(cuMemsetD8Async(data + i, 1, 1, streams[i]));
  }
  MUST(cuLaunchHostFunc(free_stream, count_call, NULL));
  await_call(1);
  MUST_BE(cuStreamQuery(streams[0]), NOT_READY);
}

static void run(const char *schedule, const char *quiet, void (*program)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMCUDA_SCHEDULE", schedule, 1);
    setenv("SIMCUDA_QUIET_MS", quiet, 1);
    start();
    program();
    exit(0);
  }
  int status = -1;
  MUST_BE(waitpid(child, &status, 0), child);
  if (status) fprintf(stderr, "under %s\n", schedule);
  MUST_BE(status, 0);
}

int main(void) {
  char schedule[32];
  static const char *const never = "0", *const soon = "20", *const late = "600000";
  run("lazy", never, behind_each_other);
  run("eager", never, behind_each_other);
  run("lazy", soon, by_itself);
  run("eager", soon, by_itself);
  run("lazy", late, host_function_first);
  for (int seed = 1; seed <= 8; ++seed) {
    snprintf(schedule, sizeof schedule, "random:%d", seed);
    run(schedule, never, behind_each_other);
    run(schedule, late, host_function_first);
  }
  return 0;
}
