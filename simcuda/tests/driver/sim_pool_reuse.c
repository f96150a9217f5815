// SPDX-License-Identifier: BSD-3-Clause
// A pool hands the same memory out again where it may: in the same stream, after an event, once the
// free is done, or for an edge of its own, which orders nothing but that block.
#include "simcuda.h"

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
  MUST(cuDeviceGetDefaultMemPool(&pool, 0));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&other, 1));

  MUST(cuMemAllocAsync(&first, SIZE, one));
  MUST(cuMemFreeAsync(first, one));
  MUST(cuMemAllocAsync(&second, SIZE, one));
  MUST_BE(second == first, 1);  // the same stream

  MUST(cuMemPoolSetAttribute(pool, OPPORTUNISTIC, &off));
  MUST(cuMemPoolSetAttribute(pool, INTERNAL, &off));
  MUST(cuMemFreeAsync(second, one));
  MUST(cuMemAllocAsync(&second, SIZE, two));
  MUST_BE(second != first, 1);
  MUST(cuMemFreeAsync(second, two));
  MUST(cuEventRecord(event, one));
  MUST(cuStreamWaitEvent(two, event, 0));
  MUST(cuMemAllocAsync(&second, SIZE, two));
  MUST_BE(second == first, 1);               // behind the event
  MUST(cuMemAllocAsync(&third, SIZE, two));  // its own
  MUST_BE(third != first, 1);

  MUST(cuMemPoolSetAttribute(pool, INTERNAL, &on));
  MUST(cuMemsetD8Async(other, 1, 1, two));
  MUST(cuMemFreeAsync(second, two));
  MUST(cuMemAllocAsync(&second, SIZE, one));
  MUST_BE(second == first, 1);  // for an edge
  MUST_BE(simcuda_races(), 0);
  MUST(cuMemsetD8Async(second, 1, SIZE, one));  // the block is in order,
  MUST_BE(simcuda_races(), 0);
  MUST(cuMemsetD8Async(other, 2, 1, one));  // and nothing else
  MUST_BE(simcuda_races(), 1);
  MUST(cuMemFreeAsync(second, one));
  MUST(cuStreamSynchronize(one));
  MUST(cuMemPoolTrimTo(pool, 0));
  MUST(cuMemAllocAsync(&second, SIZE, one));
  MUST_BE(second != first, 1);  // the pool had returned it
  return 0;
}
