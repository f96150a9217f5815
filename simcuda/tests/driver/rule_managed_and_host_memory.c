// SPDX-License-Identifier: BSD-3-Clause
// Rule: Managed memory is the host's too; host memory, allocated or registered, is the device's.
// Source: cuda.h, cuMemAllocManaged, cuMemHostAlloc and cuMemHostRegister
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  enum { MEMORY_TYPE = 2, DEVICE_POINTER = 3, IS_MANAGED = 8 };
  CUdeviceptr managed, device, attribute;
  unsigned char *pinned, value = 0;
  static unsigned char registered[4096];
  unsigned number = 0;
  MUST(cuMemAllocManaged(&managed, 1, 1));
  MUST(cuPointerGetAttribute(&number, IS_MANAGED, managed));
  MUST_BE(number, 1);
  *(unsigned char *)(uintptr_t)managed = 5;
  MUST(cuMemcpyDtoH(&value, managed, 1));
  MUST_BE(value, 5);

  MUST(cuMemHostAlloc((void **)&pinned, 2, 2));
  MUST(cuPointerGetAttribute(&number, MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
  MUST_BE(number, 1);

  MUST(cuMemHostRegister(registered, sizeof registered, 2));
  MUST(cuMemHostGetDevicePointer(&device, registered + 8, 0));
  MUST(cuPointerGetAttribute(&attribute, DEVICE_POINTER, (CUdeviceptr)(uintptr_t)(registered + 8)));
  MUST_BE(attribute == device, 1);
  MUST(cuMemsetD8Async(device, 6, 1, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST_BE(registered[8], 6);
  MUST(cuMemHostUnregister(registered));
  MUST_BE(cuMemHostGetDevicePointer(&device, registered, 0), INVALID_VALUE);
  return 0;
}
