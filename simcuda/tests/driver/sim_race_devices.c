// SPDX-License-Identifier: BSD-3-Clause
// Streams of two devices, and the legacy streams of two contexts, are ordered by events alone.
#include "race_test.h"

int main(void) {
  CUcontext first = start_races(), second;
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  USE(cuMemcpyPeer, 4000, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
  CUdeviceptr data, copy;
  CUstream here, there;
  CUevent event;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuStreamCreate(&here, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuDevicePrimaryCtxRetain(&second, 1));
  MUST(cuCtxSetCurrent(second));
  MUST(cuMemAlloc(&copy, 64));
  MUST(cuStreamCreate(&there, NON_BLOCKING));

  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, here));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, there)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, here)); MUST(cuEventRecord(event, here));
        MUST(cuStreamWaitEvent(there, event, 0)); MUST(cuMemcpyDtoDAsync(copy, data, 64, there)););
  // To wait for a context is to wait for that one alone.
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, here)); MUST(cuCtxSynchronize());
        MUST(cuMemcpyDtoDAsync(copy, data, 64, there)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, here)); MUST(cuCtxSetCurrent(first));
        MUST(cuCtxSynchronize()); MUST(cuCtxSetCurrent(second));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, there)););
  RACES(1, MUST(cuCtxSetCurrent(first)); MUST(cuMemsetD8Async(data, 1, 64, LEGACY));
        MUST(cuCtxSetCurrent(second)); MUST(cuMemcpyDtoDAsync(copy, data, 64, LEGACY)););
  // A peer copy comes after all work of both contexts, and before it goes on.
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, here));
        MUST(cuMemcpyPeer(copy, second, data, first, 64)); MUST(cuMemsetD8Async(data, 2, 64, here));
        MUST(cuMemsetD8Async(copy, 2, 64, there)););
  // A free waits for the memory's own device, not for another one that uses it.
  RACES(1, MUST(cuMemcpyDtoDAsync(data, copy, 64, here)); MUST(cuMemFree(copy)););
  return 0;
}
