// SPDX-License-Identifier: BSD-3-Clause
// The simulator's own exports before cuInit, in a host function, with no context, and for names
// that there are not: they say so, and change nothing.
#include "simcuda.h"

#include "driver_test.h"

enum { STUCK = LAUNCH_FAILED };

static struct {
  __typeof__(simcuda_fail) *fail;
  __typeof__(simcuda_busy) *busy;
  __typeof__(simcuda_forget) *forget;
  __typeof__(simcuda_pending) *pending;
  CUresult (*get_count)(int *);
} of;

static CUresult call_driver(void) {
  int count;
  return of.get_count(&count);
}

static void before_start(void) {
  FIND_SIM(simcuda_objects);
  FIND_SIM(simcuda_host_access);
  FIND_SIM(simcuda_reseed);
  FIND_SIM(simcuda_last_work);
  FIND_SIM(simcuda_ordered);
  FIND_SIM(simcuda_lose_device);
  MUST_BE(of.pending(), 0);
  MUST_HOLD(simcuda_objects("CUstream") == UINT64_MAX);
  MUST_BE(simcuda_host_access(&of, 1, 0), NOT_INITIALIZED);
  of.forget();
  simcuda_reseed(1);
  MUST_BE(simcuda_last_work(), 0);
  MUST_BE(simcuda_ordered(1, 1), -1);
  MUST_BE(simcuda_lose_device(0), NOT_INITIALIZED);
  MUST_BE(of.busy(NULL, 1), NOT_INITIALIZED);
  // The call returns the injected error; there is no context that the error could end.
  MUST(of.fail("cuDeviceGetCount", 1, STUCK));
  MUST_BE(call_driver(), STUCK);
  MUST_BE(call_driver(), NOT_INITIALIZED);
}

static void check_names(void) {
  FIND_SIM(simcuda_calls);
  MUST_BE(of.fail(NULL, 1, 1), NOT_FOUND);
  MUST_BE(of.fail("cuNothing", 1, 1), NOT_FOUND);
  MUST_HOLD(simcuda_calls("cuNothing") == UINT64_MAX);
  const uint64_t all = simcuda_calls(NULL), one = simcuda_calls("cuDeviceGetCount");
  MUST(call_driver());
  MUST_BE(simcuda_calls(NULL), all + 1);
  MUST_BE(simcuda_calls("cuDeviceGetCount"), one + 1);
}

static CUresult busy_inside, count_inside;

static void in_host_function(void *unused) {
  (void)unused;
  busy_inside = of.busy(NULL, 1);
  of.forget();  // of which it is a part itself
  count_inside = call_driver();
}

static void check_host_function(void) {
  USE_STREAMS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuLaunchHostFunc(stream, in_host_function, NULL));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(busy_inside, NOT_PERMITTED);
  MUST_BE(count_inside, NOT_PERMITTED);
  // An error that a call there is made to return is nobody's context's.
  MUST(cuLaunchHostFunc(stream, in_host_function, NULL));
  MUST(of.fail("cuDeviceGetCount", 1, STUCK));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(count_inside, STUCK);
  MUST(cuStreamQuery(stream));
  MUST(cuStreamDestroy(stream));
}

static void check_no_context(CUcontext context) {
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  MUST(cuCtxSetCurrent(NULL));
  MUST(of.fail("cuDeviceGetCount", 1, STUCK));
  MUST_BE(call_driver(), STUCK);
  MUST(of.fail("cuDeviceGetCount", 1, SIMCUDA_LOSE_DEVICE));
  MUST(call_driver());  // no device is lost
  MUST(cuCtxSetCurrent(context));
  MUST(cuCtxSynchronize());
}

// Each of these errors stays with the context that was current; others do not.
static void check_errors(void) {
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  static const int stay[] = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719};
  static const int pass[] = {2, 213, 215, 699, 701, 703, 709, 711, 713, 720, 999};
  CUcontext context;
  for (unsigned i = 0; i < sizeof stay / sizeof *stay; ++i) {
    MUST(cuCtxCreate(&context, 0, 0));
    MUST(of.fail("cuDeviceGetCount", 1, stay[i]));
    MUST_BE(call_driver(), stay[i]);
    MUST_BE(cuCtxSynchronize(), stay[i]);
    MUST(cuCtxDestroy(context));
  }
  for (unsigned i = 0; i < sizeof pass / sizeof *pass; ++i) {
    MUST(of.fail("cuDeviceGetCount", 1, pass[i]));
    MUST_BE(call_driver(), pass[i]);
    MUST(cuCtxSynchronize());
  }
}

int main(void) {
  open_driver();
  *(void **)&of.fail = dlsym(library, "simcuda_fail");
  *(void **)&of.busy = dlsym(library, "simcuda_busy");
  *(void **)&of.forget = dlsym(library, "simcuda_forget");
  *(void **)&of.pending = dlsym(library, "simcuda_pending");
  *(void **)&of.get_count = find("cuDeviceGetCount", 2000);
  before_start();
  const CUcontext context = start();
  check_names();
  check_host_function();
  check_no_context(context);
  check_errors();
  return 0;
}
