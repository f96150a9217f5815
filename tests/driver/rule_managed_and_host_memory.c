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
  OK(cuMemAllocManaged(&managed, 1, 1));
  OK(cuPointerGetAttribute(&number, IS_MANAGED, managed));
  EXPECT(number, 1);
  *(unsigned char *)(uintptr_t)managed = 5;
  OK(cuMemcpyDtoH(&value, managed, 1));
  EXPECT(value, 5);

  OK(cuMemHostAlloc((void **)&pinned, 2, 2));
  OK(cuPointerGetAttribute(&number, MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
  EXPECT(number, 1);

  OK(cuMemHostRegister(registered, sizeof registered, 2));
  OK(cuMemHostGetDevicePointer(&device, registered + 8, 0));
  OK(cuPointerGetAttribute(&attribute, DEVICE_POINTER, (CUdeviceptr)(uintptr_t)(registered + 8)));
  EXPECT(attribute == device, 1);
  OK(cuMemsetD8Async(device, 6, 1, LEGACY));
  OK(cuStreamSynchronize(LEGACY));
  EXPECT(registered[8], 6);
  OK(cuMemHostUnregister(registered));
  EXPECT(cuMemHostGetDevicePointer(&device, registered, 0), INVALID_VALUE);
  return 0;
}
