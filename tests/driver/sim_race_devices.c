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
  OK(cuMemAlloc(&data, 64));
  OK(cuStreamCreate(&here, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  OK(cuMemAlloc(&copy, 64));
  OK(cuStreamCreate(&there, NON_BLOCKING));

  RACES(1, OK(cuMemsetD8Async(data, 1, 64, here)); OK(cuMemcpyDtoDAsync(copy, data, 64, there)););
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, here)); OK(cuEventRecord(event, here));
        OK(cuStreamWaitEvent(there, event, 0)); OK(cuMemcpyDtoDAsync(copy, data, 64, there)););
  // To wait for a context is to wait for that one alone.
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, here)); OK(cuCtxSynchronize());
        OK(cuMemcpyDtoDAsync(copy, data, 64, there)););
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, here)); OK(cuCtxSetCurrent(first));
        OK(cuCtxSynchronize()); OK(cuCtxSetCurrent(second));
        OK(cuMemcpyDtoDAsync(copy, data, 64, there)););
  RACES(1, OK(cuCtxSetCurrent(first)); OK(cuMemsetD8Async(data, 1, 64, LEGACY));
        OK(cuCtxSetCurrent(second)); OK(cuMemcpyDtoDAsync(copy, data, 64, LEGACY)););
  // A peer copy comes after all work of both contexts, and before it goes on.
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, here)); OK(cuMemcpyPeer(copy, second, data, first, 64));
        OK(cuMemsetD8Async(data, 2, 64, here)); OK(cuMemsetD8Async(copy, 2, 64, there)););
  // A free waits for the memory's own device, not for another one that uses it.
  RACES(1, OK(cuMemcpyDtoDAsync(data, copy, 64, here)); OK(cuMemFree(copy)););
  return 0;
}
