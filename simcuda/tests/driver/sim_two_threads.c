// SPDX-License-Identifier: BSD-3-Clause
// Two threads end one thing, and both have to wait for the device: one of them ends it, and the
// other is told that it is not there. What one of them retains stays.
#include "simcuda.h"

#include "arrays.h"
#include "attributes.h"

enum { SIZE = 64 };

static struct {
  CUcontext context, ended;
  CUdeviceptr data;
  CUarray array;
  void *host, *page;
} what;

static CUresult free_memory(void) {
  USE_MEMORY;
  return cuMemFree(what.data);
}

static CUresult free_host(void) {
  USE(cuMemFreeHost, 2000, void *);
  return cuMemFreeHost(what.host);
}

static CUresult unregister(void) {
  USE(cuMemHostUnregister, 4000, void *);
  return cuMemHostUnregister(what.page);
}

static CUresult destroy_array(void) {
  USE(cuArrayDestroy, 2000, CUarray);
  return cuArrayDestroy(what.array);
}

static CUresult destroy_context(void) {
  USE(cuCtxDestroy, 4000, CUcontext);
  return cuCtxDestroy(what.ended);
}

static CUresult reset(void) {
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  return cuDevicePrimaryCtxReset(1);
}

// It holds the device up until both have called, and then as long as they may take to wait.
static void wait_for_both(void *name) {
  FIND_SIM(simcuda_calls);
  while (simcuda_calls(name) < 2) usleep(1000);
  usleep(20000);
}

static CUresult (*end)(void);

static void *end_it(void *result) {
  USE(cuCtxSetCurrent, 4000, CUcontext);
  MUST(cuCtxSetCurrent(what.context));
  *(CUresult *)result = end();
  return NULL;
}

// One succeeds, the other returns `refused`.
static void check(const char *name, CUresult (*function)(void), CUstream stream, CUresult refused) {
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  FIND_SIM(simcuda_reset_counts);
  pthread_t threads[2];
  CUresult results[2] = {-1, -1};
  end = function;
  simcuda_reset_counts();
  MUST(cuLaunchHostFunc(stream, wait_for_both, (void *)(uintptr_t)name));
  for (int i = 0; i < 2; ++i) MUST_BE(pthread_create(&threads[i], NULL, end_it, &results[i]), 0);
  for (int i = 0; i < 2; ++i) MUST_BE(pthread_join(threads[i], NULL), 0);
  MUST_BE(results[0] == SUCCESS || results[1] == SUCCESS, 1);
  MUST_BE(results[results[0] == SUCCESS], refused);
}

static int is_held_up;

static void hold_up(void *unused) {
  (void)unused;
  __atomic_store_n(&is_held_up, 1, __ATOMIC_SEQ_CST);
  wait_at_gate((void *)10000);
}

static void *release(void *unused) {
  USE(cuDevicePrimaryCtxRelease, 7000, CUdevice);
  MUST(cuDevicePrimaryCtxRelease(1));
  return unused;
}

// What one thread releases, the other retains while the first one waits: it stays as it is.
static void check_retained(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 7000, CUdevice);
  CUcontext primary, again;
  CUdeviceptr data;
  CUstream stream;
  pthread_t other;
  MUST(cuDevicePrimaryCtxRetain(&primary, 1));
  MUST(cuCtxSetCurrent(primary));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuLaunchHostFunc(stream, hold_up, NULL));
  MUST_BE(pthread_create(&other, NULL, release, NULL), 0);
  while (!__atomic_load_n(&is_held_up, __ATOMIC_SEQ_CST)) usleep(1000);
  MUST(cuDevicePrimaryCtxRetain(&again, 1));
  MUST_BE(again == primary, 1);
  open_gate();
  MUST_BE(pthread_join(other, NULL), 0);
  MUST(cuMemsetD8Async(data, 1, SIZE, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuDevicePrimaryCtxRelease(1));
  MUST_BE(cuStreamSynchronize(LEGACY), CONTEXT_IS_DESTROYED);
  MUST(cuCtxSetCurrent(what.context));
}

int main(void) {
  what.context = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_ARRAYS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 7000, CUdevice);
  FIND_SIM(simcuda_objects);
  const ArrayDescriptor shape = {SIZE, 1, UINT8, 1};
  const uint64_t before = simcuda_objects("CUdeviceptr"), contexts = simcuda_objects("CUcontext");
  CUstream stream;
  CUcontext primary;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&what.data, SIZE));
  check("cuMemFree", free_memory, stream, INVALID_VALUE);
  MUST(cuMemHostAlloc(&what.host, SIZE, 0));
  check("cuMemFreeHost", free_host, stream, INVALID_VALUE);
  what.page = new_page();
  MUST(cuMemHostRegister(what.page, PAGE, 0));
  check("cuMemHostUnregister", unregister, stream, NOT_REGISTERED);
  MUST_BE(simcuda_objects("CUdeviceptr"), before);
  MUST(cuArrayCreate(&what.array, &shape));
  check("cuArrayDestroy", destroy_array, stream, INVALID_HANDLE);

  MUST(cuCtxCreate(&what.ended, 0, 0));
  check("cuCtxDestroy", destroy_context, LEGACY, INVALID_CONTEXT);
  MUST(cuCtxSetCurrent(what.context));
  MUST_BE(simcuda_objects("CUcontext"), contexts);

  // Both reset: there is nothing to refuse.
  MUST(cuDevicePrimaryCtxRetain(&primary, 1));
  MUST(cuCtxSetCurrent(primary));
  check("cuDevicePrimaryCtxReset", reset, LEGACY, SUCCESS);
  MUST(cuCtxSetCurrent(what.context));
  MUST(cuDevicePrimaryCtxRelease(1));
  MUST(cuStreamDestroy(stream));
  check_retained();
  return 0;
}
