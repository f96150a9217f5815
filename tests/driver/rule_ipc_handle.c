// SPDX-License-Identifier: BSD-3-Clause
// Rule: Which kinds of memory have a handle for other processes: simcuda has no IPC.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuIpcGetMemHandle, 4010, void *, CUdeviceptr);
  CUdeviceptr device, pooled, managed;
  unsigned char handle[64];
  OK(cuMemAlloc(&device, 64));
  OK(cuMemAllocAsync(&pooled, 64, LEGACY));
  OK(cuMemAllocManaged(&managed, 64, 1));
  OK(cuStreamSynchronize(LEGACY));
  FOUND_STATUS("device memory", cuIpcGetMemHandle(handle, device), NOT_SUPPORTED);
  FOUND_STATUS("not from its base", cuIpcGetMemHandle(handle, device + 8), NOT_SUPPORTED);
  FOUND_STATUS("pool memory", cuIpcGetMemHandle(handle, pooled), NOT_SUPPORTED);
  FOUND_STATUS("managed memory", cuIpcGetMemHandle(handle, managed), NOT_SUPPORTED);
  return 0;
}
