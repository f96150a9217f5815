// SPDX-License-Identifier: BSD-3-Clause
// A pool hands the same memory out again where it may: in the same stream, after an event, once the
// free is done, or for an edge of its own, which orders nothing but that block.
#include "../../simcuda/simcuda.h"

#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_RACES", "count", 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuDeviceGetDefaultMemPool, 11020, CUmemoryPool *, CUdevice);
  USE(cuMemPoolSetAttribute, 11020, CUmemoryPool, int, void *);
  USE(cuMemPoolTrimTo, 11020, CUmemoryPool, size_t);
  FIND_SIM(simcuda_races);
  enum { SIZE = 8192, FOLLOW = 1, OPPORTUNISTIC = 2, INTERNAL = 3 };
  CUmemoryPool pool;
  CUstream one, two;
  CUevent event;
  CUdeviceptr first, second, third, other;
  int off = 0, on = 1;
  OK(cuDeviceGetDefaultMemPool(&pool, 0));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&other, 1));

  OK(cuMemAllocAsync(&first, SIZE, one));
  OK(cuMemFreeAsync(first, one));
  OK(cuMemAllocAsync(&second, SIZE, one));
  EXPECT(second == first, 1);  // the same stream

  OK(cuMemPoolSetAttribute(pool, OPPORTUNISTIC, &off));
  OK(cuMemPoolSetAttribute(pool, INTERNAL, &off));
  OK(cuMemFreeAsync(second, one));
  OK(cuMemAllocAsync(&second, SIZE, two));
  EXPECT(second != first, 1);
  OK(cuMemFreeAsync(second, two));
  OK(cuEventRecord(event, one));
  OK(cuStreamWaitEvent(two, event, 0));
  OK(cuMemAllocAsync(&second, SIZE, two));
  EXPECT(second == first, 1);              // behind the event
  OK(cuMemAllocAsync(&third, SIZE, two));  // its own
  EXPECT(third != first, 1);

  OK(cuMemPoolSetAttribute(pool, INTERNAL, &on));
  OK(cuMemsetD8Async(other, 1, 1, two));
  OK(cuMemFreeAsync(second, two));
  OK(cuMemAllocAsync(&second, SIZE, one));
  EXPECT(second == first, 1);  // for an edge
  EXPECT(simcuda_races(), 0);
  OK(cuMemsetD8Async(second, 1, SIZE, one));  // the block is in order,
  EXPECT(simcuda_races(), 0);
  OK(cuMemsetD8Async(other, 2, 1, one));  // and nothing else
  EXPECT(simcuda_races(), 1);
  OK(cuMemFreeAsync(second, one));
  OK(cuStreamSynchronize(one));
  OK(cuMemPoolTrimTo(pool, 0));
  OK(cuMemAllocAsync(&second, SIZE, one));
  EXPECT(second != first, 1);  // it had been given back
  return 0;
}
