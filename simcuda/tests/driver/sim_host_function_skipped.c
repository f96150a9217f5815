// SPDX-License-Identifier: BSD-3-Clause
// A host function that is due, but has not begun when its context fails, is not called any more; a
// callback is, and told the error.
#include "simcuda.h"

#include "driver_test.h"

static int begun, called;
static CUresult told = -1;

static void hold_up(void *unused) {
  (void)unused;
  __atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
  wait_at_gate((void *)10000);
}

static void call(void *unused) {
  (void)unused;
  called = 1;
}

static void tell(CUstream stream, CUresult status, void *unused) {
  (void)stream, (void)unused;
  told = status;
}

int main(void) {
  start();
  USE_STREAMS;
  USE_GATE;
  USE(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxGetDevice, 2000, CUdevice *);
  FIND_SIM(simcuda_fail);
  CUcontext context;
  CUstream first, second, third;
  CUdevice device;
  MUST(cuCtxCreate(&context, 0, 0));
  MUST(cuStreamCreate(&first, NON_BLOCKING));
  MUST(cuStreamCreate(&second, NON_BLOCKING));
  MUST(cuStreamCreate(&third, NON_BLOCKING));
  MUST(cuLaunchHostFunc(first, hold_up, NULL));
  for (int i = 0; i < 2; ++i) MUST_BE(cuStreamQuery(first), NOT_READY);
  while (!__atomic_load_n(&begun, __ATOMIC_SEQ_CST)) usleep(1000);
  // These two are due, and wait for the one thread that calls such functions.
  MUST(cuLaunchHostFunc(second, call, NULL));
  MUST(cuStreamAddCallback(third, tell, NULL, 0));
  for (int i = 0; i < 2; ++i) MUST_BE(cuStreamQuery(second), NOT_READY);
  for (int i = 0; i < 2; ++i) MUST_BE(cuStreamQuery(third), NOT_READY);
  MUST(simcuda_fail("cuCtxGetDevice", 1, LAUNCH_FAILED));
  MUST_BE(cuCtxGetDevice(&device), LAUNCH_FAILED);
  open_gate();
  MUST(cuCtxDestroy(context));  // waits for all of them
  MUST_BE(called, 0);
  MUST_BE(told, LAUNCH_FAILED);
  return 0;
}
