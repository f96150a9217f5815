// SPDX-License-Identifier: BSD-3-Clause
// Rule: Null outputs, sizes of 0, unknown flags, addresses that no allocation begins at:
// INVALID_VALUE.
// Source: cuda.h, the return values of each function
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemAllocPitch, 3020, CUdeviceptr *, size_t *, size_t, size_t, unsigned);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  USE(cuCtxGetDevice, 2000, CUdevice *);
  USE(cuDeviceGet, 2000, CUdevice *, int);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  CUdeviceptr data;
  CUdevice device;
  CUstream stream;
  CUevent event;
  size_t pitch;
  void *host;

  EXPECT(cuMemAlloc(NULL, 1), INVALID_VALUE);
  EXPECT(cuMemAlloc(&data, 0), INVALID_VALUE);
  EXPECT(cuMemAllocPitch(&data, &pitch, 8, 8, 3), INVALID_VALUE);
  EXPECT(cuMemAllocManaged(&data, 0, 1), INVALID_VALUE);
  EXPECT(cuMemAllocManaged(&data, 1, 0), INVALID_VALUE);
  EXPECT(cuMemAllocManaged(&data, 1, 9), INVALID_VALUE);
  EXPECT(cuMemHostAlloc(NULL, 1, 0), INVALID_VALUE);
  EXPECT(cuMemHostAlloc(&host, 1, 64), INVALID_VALUE);
  EXPECT(cuMemAllocAsync(NULL, 1, LEGACY), INVALID_VALUE);
  EXPECT(cuMemAllocAsync(&data, 0, LEGACY), INVALID_VALUE);
  EXPECT(cuStreamCreate(NULL, 0), INVALID_VALUE);
  EXPECT(cuStreamCreate(&stream, 2), INVALID_VALUE);
  EXPECT(cuEventCreate(NULL, 0), INVALID_VALUE);
  EXPECT(cuEventCreate(&event, 8), INVALID_VALUE);
  EXPECT(cuEventCreate(&event, 4), INVALID_VALUE);  // interprocess, but with timing
  EXPECT(cuCtxGetCurrent(NULL), INVALID_VALUE);
  EXPECT(cuCtxGetDevice(NULL), INVALID_VALUE);
  EXPECT(cuDeviceGet(NULL, 0), INVALID_VALUE);
  EXPECT(cuDeviceGet(&device, -1), INVALID_DEVICE);
  EXPECT(cuDeviceGet(&device, 1000), INVALID_DEVICE);
  EXPECT(cuLaunchHostFunc(LEGACY, NULL, NULL), INVALID_VALUE);

  OK(cuMemAlloc(&data, 64));
  EXPECT(cuMemFree(data + 1), INVALID_VALUE);  // not where it begins
  OK(cuMemFree(data));
  EXPECT(cuMemFree(data), INVALID_VALUE);
  OK(cuMemHostAlloc(&host, 64, 0));
  EXPECT(cuMemFreeHost((char *)host + 1), INVALID_VALUE);
  OK(cuMemFreeHost(host));
  EXPECT(cuMemFreeHost(host), INVALID_VALUE);
  OK(cuMemAllocAsync(&data, 64, LEGACY));
  EXPECT(cuMemFreeAsync(data + 1, LEGACY), INVALID_VALUE);
  OK(cuMemFreeAsync(data, LEGACY));
  EXPECT(cuMemFreeAsync(data, LEGACY), INVALID_VALUE);
  OK(cuStreamSynchronize(LEGACY));

  OK(cuEventCreate(&event, 2));
  EXPECT(cuEventRecordWithFlags(event, LEGACY, 2), INVALID_VALUE);
  EXPECT(cuStreamWaitEvent(LEGACY, event, 2), INVALID_VALUE);
  EXPECT(cuEventRecord(NULL, LEGACY), INVALID_HANDLE);
  EXPECT(cuStreamDestroy(LEGACY), INVALID_HANDLE);
  EXPECT(cuStreamDestroy(NULL), INVALID_HANDLE);
  return 0;
}
