// SPDX-License-Identifier: BSD-3-Clause
// Rule: Null outputs, sizes of 0, unknown flags, addresses that no allocation begins at:
// INVALID_VALUE.
// Source: cuda.h, the return values of each function
#include "driver_test.h"

static void called(CUstream stream, CUresult status, void *unused) {
  (void)stream, (void)status, (void)unused;
}

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
  USE(cuInit, 2000, unsigned);
  USE(cuGetErrorName, 6000, CUresult, const char **);
  USE(cuGetErrorString, 6000, CUresult, const char **);
  USE(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
  const char *text = "";
  CUdeviceptr data;
  CUdevice device;
  CUstream stream;
  CUevent event;
  size_t pitch;
  void *host;

  MUST_BE(cuInit(1), INVALID_VALUE);
  MUST_BE(cuGetErrorName(12345, &text), INVALID_VALUE);
  MUST_BE(text == NULL, 1);
  text = "";
  MUST_BE(cuGetErrorString(12345, &text), INVALID_VALUE);
  MUST_BE(text == NULL, 1);
  MUST(cuGetErrorName(INVALID_VALUE, &text));
  MUST_BE(strcmp(text, "CUDA_ERROR_INVALID_VALUE"), 0);
  MUST(cuGetErrorString(INVALID_VALUE, &text));
  MUST_BE(strlen(text) > 0, 1);
  MUST_BE(cuMemAlloc(NULL, 1), INVALID_VALUE);
  MUST_BE(cuMemAlloc(&data, 0), INVALID_VALUE);
  MUST_BE(cuMemAllocPitch(&data, &pitch, 8, 8, 3), INVALID_VALUE);
  MUST_BE(cuMemAllocManaged(&data, 0, 1), INVALID_VALUE);
  MUST_BE(cuMemAllocManaged(&data, 1, 0), INVALID_VALUE);
  MUST_BE(cuMemAllocManaged(&data, 1, 9), INVALID_VALUE);
  MUST_BE(cuMemHostAlloc(NULL, 1, 0), INVALID_VALUE);
  MUST_BE(cuMemHostAlloc(&host, 1, 64), INVALID_VALUE);
  MUST_BE(cuMemAllocAsync(NULL, 1, LEGACY), INVALID_VALUE);
  MUST_BE(cuStreamCreate(NULL, 0), INVALID_VALUE);
  MUST_BE(cuStreamCreate(&stream, 2), INVALID_VALUE);
  MUST_BE(cuEventCreate(NULL, 0), INVALID_VALUE);
  MUST_BE(cuEventCreate(&event, 8), INVALID_VALUE);
  MUST_BE(cuEventCreate(&event, 4), INVALID_VALUE);  // interprocess, but with timing
  MUST_BE(cuCtxGetCurrent(NULL), INVALID_VALUE);
  MUST_BE(cuCtxGetDevice(NULL), INVALID_VALUE);
  MUST_BE(cuDeviceGet(NULL, 0), INVALID_VALUE);
  MUST_BE(cuDeviceGet(&device, -1), INVALID_DEVICE);
  MUST_BE(cuDeviceGet(&device, 1000), INVALID_DEVICE);
  MUST_BE(cuLaunchHostFunc(LEGACY, NULL, NULL), INVALID_VALUE);
  MUST_BE(cuStreamAddCallback(LEGACY, NULL, NULL, 0), INVALID_VALUE);
  MUST_BE(cuStreamAddCallback(LEGACY, called, NULL, 1), INVALID_VALUE);

  MUST(cuMemAlloc(&data, 64));
  MUST_BE(cuMemFree(data + 1), INVALID_VALUE);  // not where it begins
  MUST(cuMemFree(data));
  MUST_BE(cuMemFree(data), INVALID_VALUE);
  MUST(cuMemHostAlloc(&host, 64, 0));
  MUST_BE(cuMemFreeHost((char *)host + 1), INVALID_VALUE);
  MUST(cuMemFreeHost(host));
  MUST_BE(cuMemFreeHost(host), INVALID_VALUE);
  MUST(cuMemAllocAsync(&data, 64, LEGACY));
  MUST_BE(cuMemFreeAsync(data + 1, LEGACY), INVALID_VALUE);
  MUST(cuMemFreeAsync(data, LEGACY));
  MUST_BE(cuMemFreeAsync(data, LEGACY), INVALID_VALUE);
  MUST(cuStreamSynchronize(LEGACY));

  MUST(cuEventCreate(&event, 2));
  MUST_BE(cuEventRecordWithFlags(event, LEGACY, 2), INVALID_VALUE);
  MUST_BE(cuStreamWaitEvent(LEGACY, event, 2), INVALID_VALUE);
  MUST_BE(cuEventRecord(NULL, LEGACY), INVALID_HANDLE);
  MUST_BE(cuStreamDestroy(LEGACY), INVALID_HANDLE);
  MUST_BE(cuStreamDestroy(NULL), INVALID_HANDLE);
  return 0;
}
