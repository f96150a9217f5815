// SPDX-License-Identifier: BSD-3-Clause
// A device that is lost refuses all that touches it, frees and resets too, and never comes back;
// others go on.
#include "simcuda.h"

#include "driver_test.h"

static int ran;

static void count(void *unused) {
  (void)unused;
  ++ran;
}

static CUresult told;

static void tell(CUstream stream, CUresult status, void *unused) {
  (void)stream, (void)unused;
  __atomic_store_n(&told, status, __ATOMIC_SEQ_CST);
}

int main(void) {
  enum { UNKNOWN = 999 };
  const CUcontext first = start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_POOLS;
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuDevicePrimaryCtxRelease, 11000, CUdevice);
  USE(cuDevicePrimaryCtxReset, 11000, CUdevice);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  USE(cuMemcpyPeerAsync, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
  USE(cuDeviceGetName, 2000, char *, int, CUdevice);
  FIND_SIM(simcuda_lose_device);
  FIND_SIM(simcuda_fail);
  const PoolProperties on_second = {.type = 1, .location_type = 1, .location_id = 1};
  CUcontext second, another;
  CUdeviceptr data, kept, more, pooled;
  CUmemoryPool pool;
  CUstream stream, other;
  CUevent event;
  void *pinned;
  size_t free = 0, total = 0;
  char name[64];
  unsigned char byte = 5;
  MUST(cuMemAlloc(&kept, 64));
  MUST(cuMemcpyHtoD(kept, &byte, 1));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemHostAlloc(&pinned, 64, 0));
  MUST(cuMemPoolCreate(&pool, &on_second));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAllocFromPoolAsync(&pooled, 64, pool, stream));
  MUST(cuEventCreate(&event, 0));
  MUST(cuMemsetD8Async(data, 1, 64, stream));
  MUST(cuLaunchHostFunc(stream, count, NULL));
  MUST(cuStreamAddCallback(stream, tell, NULL, 0));
  MUST(cuEventRecord(event, stream));

  MUST_BE(simcuda_lose_device(7), INVALID_DEVICE);
  MUST(simcuda_lose_device(1));
  for (int i = 0; i < 2; ++i) {
    MUST_BE(cuStreamSynchronize(stream), UNKNOWN);
    MUST_BE(cuStreamQuery(stream), UNKNOWN);
    MUST_BE(cuEventSynchronize(event), UNKNOWN);
    MUST_BE(cuEventRecord(event, stream), UNKNOWN);
    MUST_BE(cuCtxSynchronize(), UNKNOWN);
    MUST_BE(cuMemAlloc(&more, 64), UNKNOWN);
    MUST_BE(cuMemGetInfo(&free, &total), UNKNOWN);
    MUST_BE(cuMemsetD8Async(data, 1, 64, stream), UNKNOWN);
    MUST_BE(cuMemAllocAsync(&more, 64, stream), UNKNOWN);
    MUST_BE(cuMemFree(data), UNKNOWN);
    MUST_BE(cuMemFreeAsync(pooled, stream), UNKNOWN);
    MUST_BE(cuMemFreeHost(pinned), UNKNOWN);
    MUST_BE(cuMemPoolTrimTo(pool, 0), UNKNOWN);
    MUST_BE(cuMemPoolCreate(&pool, &on_second), UNKNOWN);
    MUST_BE(cuCtxCreate(&another, 0, 1), UNKNOWN);
    MUST_BE(cuDevicePrimaryCtxRetain(&another, 1), UNKNOWN);
    MUST_BE(cuDevicePrimaryCtxReset(1), UNKNOWN);
  }
  // The other device goes on, and gets errors where it would need this one.
  MUST(cuCtxSetCurrent(first));
  for (int i = 0; i < 600000 && !__atomic_load_n(&told, __ATOMIC_SEQ_CST); ++i) usleep(1000);
  MUST_BE(told, UNKNOWN);
  MUST_BE(ran, 0);  // which was before that in the stream
  MUST_BE(cuMemFree(data), UNKNOWN);
  MUST_BE(cuMemFreeAsync(pooled, other), UNKNOWN);
  MUST_BE(cuMemcpyPeerAsync(kept, first, data, second, 64, other), UNKNOWN);
  MUST_BE(cuStreamWaitEvent(other, event, 0), UNKNOWN);
  MUST_BE(cuMemAllocFromPoolAsync(&more, 64, pool, other), UNKNOWN);
  MUST_BE(cuStreamSynchronize(stream), UNKNOWN);
  MUST(cuMemsetD8Async(kept + 1, 6, 1, other));
  MUST(cuStreamSynchronize(other));
  MUST(cuMemcpyDtoH(&byte, kept, 1));
  MUST_BE(byte, 5);
  MUST(cuMemGetInfo(&free, &total));
  MUST(cuDeviceGetName(name, sizeof name, 1));
  // What is left of it can be released: once, though with the error.
  MUST_BE(cuStreamDestroy(stream), UNKNOWN);
  MUST_BE(cuStreamDestroy(stream), INVALID_HANDLE);
  MUST_BE(cuEventDestroy(event), UNKNOWN);
  MUST_BE(cuEventDestroy(event), INVALID_HANDLE);
  MUST_BE(cuDevicePrimaryCtxRelease(1), UNKNOWN);
  MUST_BE(cuDevicePrimaryCtxRetain(&another, 1), UNKNOWN);

  // From the nth call of a function on.
  MUST(simcuda_fail("cuMemAlloc", 2, SIMCUDA_LOSE_DEVICE));
  MUST(cuMemAlloc(&more, 64));
  MUST_BE(cuMemAlloc(&data, 64), UNKNOWN);
  MUST_BE(cuMemFree(more), UNKNOWN);
  MUST_BE(cuMemcpyDtoH(&byte, kept, 1), UNKNOWN);
  return 0;
}
