// SPDX-License-Identifier: BSD-3-Clause
// A device that is lost refuses all that touches it, frees and resets too, and never comes back;
// others go on.
#include "../../simcuda/simcuda.h"

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
  OK(cuMemAlloc(&kept, 64));
  OK(cuMemcpyHtoD(kept, &byte, 1));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  OK(cuMemAlloc(&data, 64));
  OK(cuMemHostAlloc(&pinned, 64, 0));
  OK(cuMemPoolCreate(&pool, &on_second));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemAllocFromPoolAsync(&pooled, 64, pool, stream));
  OK(cuEventCreate(&event, 0));
  OK(cuMemsetD8Async(data, 1, 64, stream));
  OK(cuLaunchHostFunc(stream, count, NULL));
  OK(cuStreamAddCallback(stream, tell, NULL, 0));
  OK(cuEventRecord(event, stream));

  EXPECT(simcuda_lose_device(7), INVALID_DEVICE);
  OK(simcuda_lose_device(1));
  for (int i = 0; i < 2; ++i) {
    EXPECT(cuStreamSynchronize(stream), UNKNOWN);
    EXPECT(cuStreamQuery(stream), UNKNOWN);
    EXPECT(cuEventSynchronize(event), UNKNOWN);
    EXPECT(cuEventRecord(event, stream), UNKNOWN);
    EXPECT(cuCtxSynchronize(), UNKNOWN);
    EXPECT(cuMemAlloc(&more, 64), UNKNOWN);
    EXPECT(cuMemGetInfo(&free, &total), UNKNOWN);
    EXPECT(cuMemsetD8Async(data, 1, 64, stream), UNKNOWN);
    EXPECT(cuMemAllocAsync(&more, 64, stream), UNKNOWN);
    EXPECT(cuMemFree(data), UNKNOWN);
    EXPECT(cuMemFreeAsync(pooled, stream), UNKNOWN);
    EXPECT(cuMemFreeHost(pinned), UNKNOWN);
    EXPECT(cuMemPoolTrimTo(pool, 0), UNKNOWN);
    EXPECT(cuMemPoolCreate(&pool, &on_second), UNKNOWN);
    EXPECT(cuCtxCreate(&another, 0, 1), UNKNOWN);
    EXPECT(cuDevicePrimaryCtxRetain(&another, 1), UNKNOWN);
    EXPECT(cuDevicePrimaryCtxReset(1), UNKNOWN);
  }
  // The other device goes on, and is told where it would need this one.
  OK(cuCtxSetCurrent(first));
  for (int i = 0; i < 2000 && !__atomic_load_n(&told, __ATOMIC_SEQ_CST); ++i) usleep(1000);
  EXPECT(told, UNKNOWN);
  EXPECT(ran, 0);  // which was before that in the stream
  EXPECT(cuMemFree(data), UNKNOWN);
  EXPECT(cuMemFreeAsync(pooled, other), UNKNOWN);
  EXPECT(cuMemcpyPeerAsync(kept, first, data, second, 64, other), UNKNOWN);
  EXPECT(cuStreamWaitEvent(other, event, 0), UNKNOWN);
  EXPECT(cuMemAllocFromPoolAsync(&more, 64, pool, other), UNKNOWN);
  EXPECT(cuStreamSynchronize(stream), UNKNOWN);
  OK(cuMemsetD8Async(kept + 1, 6, 1, other));
  OK(cuStreamSynchronize(other));
  OK(cuMemcpyDtoH(&byte, kept, 1));
  EXPECT(byte, 5);
  OK(cuMemGetInfo(&free, &total));
  OK(cuDeviceGetName(name, sizeof name, 1));
  // What is left of it can be let go of: once, though with the error.
  EXPECT(cuStreamDestroy(stream), UNKNOWN);
  EXPECT(cuStreamDestroy(stream), INVALID_HANDLE);
  EXPECT(cuEventDestroy(event), UNKNOWN);
  EXPECT(cuEventDestroy(event), INVALID_HANDLE);
  EXPECT(cuDevicePrimaryCtxRelease(1), UNKNOWN);
  EXPECT(cuDevicePrimaryCtxRetain(&another, 1), UNKNOWN);

  // From the nth call of a function on.
  OK(simcuda_fail("cuMemAlloc", 2, SIMCUDA_LOSE_DEVICE));
  OK(cuMemAlloc(&more, 64));
  EXPECT(cuMemAlloc(&data, 64), UNKNOWN);
  EXPECT(cuMemFree(more), UNKNOWN);
  EXPECT(cuMemcpyDtoH(&byte, kept, 1), UNKNOWN);
  return 0;
}
