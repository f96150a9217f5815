// SPDX-License-Identifier: BSD-3-Clause
// A child that was forked while other threads were in the driver never hangs: the driver's calls
// are refused, the simulator's own do nothing, and a process that it starts may use the driver.
#include <sys/wait.h>

#include "simcuda.h"

#include "driver_test.h"

static int stop;
static int forked;

// What the parent's threads held stays in a child, and is no leak.
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return forked; }

static void *keep_calling(void *context) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  FIND_SIM(simcuda_fail);
  CUstream stream;
  CUdeviceptr data;
  MUST(cuCtxSetCurrent(context));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 4096));
  while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
    MUST(cuMemsetD8Async(data, 1, 4096, stream));
    MUST(simcuda_fail("cuInit", 0, 0));
    MUST(cuStreamSynchronize(stream));
  }
  return NULL;
}

static int child(CUdeviceptr data) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuInit, 2000, unsigned);
  USE(cuDriverGetVersion, 2020, int *);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  FIND_SIM(simcuda_fail);
  FIND_SIM(simcuda_reset);
  FIND_SIM(simcuda_pending);
  FIND_SIM(simcuda_races);
  FIND_SIM(simcuda_host_access);
  FIND_SIM(simcuda_busy);
  FIND_SIM(simcuda_forget);
  FIND_SIM(simcuda_reseed);
  FIND_SIM(simcuda_objects);
  FIND_SIM(simcuda_last_work);
  FIND_SIM(simcuda_ordered);
  FIND_SIM(simcuda_lose_device);
  FIND_SIM(simcuda_kernel);
  CUdeviceptr more;
  CUstream stream;
  int version;
  MUST_BE(cuInit(0), NOT_INITIALIZED);
  MUST_BE(cuMemAlloc(&more, 64), NOT_INITIALIZED);
  MUST_BE(cuMemFree(data), NOT_INITIALIZED);
  MUST_BE(cuStreamCreate(&stream, 0), NOT_INITIALIZED);
  MUST_BE(cuStreamSynchronize(LEGACY), NOT_INITIALIZED);
  MUST_BE(cuLaunchHostFunc(LEGACY, NULL, NULL), NOT_INITIALIZED);
  MUST(cuDriverGetVersion(&version));  // needs no start
  MUST_BE(simcuda_fail("cuInit", 0, 0), NOT_INITIALIZED);
  simcuda_reset();
  simcuda_forget();
  simcuda_reseed(1);
  MUST_BE(simcuda_pending(), 0);
  MUST_HOLD(simcuda_objects("CUstream") == UINT64_MAX);
  MUST_BE(simcuda_last_work(), 0);
  MUST_BE(simcuda_ordered(1, 2), -1);
  MUST_BE(simcuda_lose_device(0), NOT_INITIALIZED);
  MUST_BE(simcuda_kernel("none", NULL, 0, NULL, NULL), NOT_INITIALIZED);
  (void)simcuda_races();
  MUST_BE(simcuda_host_access(&version, 4, 0), NOT_INITIALIZED);
  MUST_BE(simcuda_busy(NULL, 1), NOT_INITIALIZED);
  return 0;
}

int main(int count, char **arguments) {
  (void)arguments;
  const CUcontext context = start();
  if (count > 1) return 0;  // started by a child
  USE_MEMORY;
  USE_EVENTS;
  enum { THREADS = 2, CHILDREN = 60 };
  pthread_t threads[THREADS];
  CUdeviceptr data;
  CUevent shared;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuEventCreate(&shared, 4 | 2));  // with what processes share
  for (int i = 0; i < THREADS; ++i)
    MUST_BE(pthread_create(&threads[i], NULL, keep_calling, context), 0);
  for (int i = 0; i < CHILDREN; ++i) {
    const pid_t id = fork();
    if (id == 0) {
      forked = 1;
      alarm(600);  // a hanging process is killed
      if (child(data)) _exit(1);
      if (i % 10) _exit(0);
      if (i % 20) exit(0);  // with the library's own end
      execl("/proc/self/exe", "again", "again", (char *)NULL);
      _exit(1);
    }
    int status = -1;
    MUST_BE(waitpid(id, &status, 0), id);
    MUST_BE(status, 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < THREADS; ++i) MUST_BE(pthread_join(threads[i], NULL), 0);
  MUST(cuMemFree(data));
  return 0;
}
