// SPDX-License-Identifier: BSD-3-Clause
// With SIMCUDA_TWO_ADDRESSES, registered and write-combined host memory have another address on the
// device, as where attribute 91 is 0: a program that passes the host's address fails.
#include "driver_test.h"

int main(void) {
  setenv("SIMCUDA_TWO_ADDRESSES", "1", 1);
  start();
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuDeviceGetAttribute, 2000, int *, int, CUdevice);
  static char registered[64];
  void *combined, *plain;
  CUdeviceptr device;
  int same = 1;
  MUST(cuDeviceGetAttribute(&same, 91, 0));
  MUST_BE(same, 0);
  MUST(cuMemHostRegister(registered, sizeof registered, 0));
  MUST(cuMemHostGetDevicePointer(&device, registered, 0));
  MUST_BE(device != (CUdeviceptr)(uintptr_t)registered, 1);
  MUST(cuMemHostAlloc(&combined, 64, 4));
  MUST(cuMemHostGetDevicePointer(&device, combined, 0));
  MUST_BE(device != (CUdeviceptr)(uintptr_t)combined, 1);
  MUST(cuMemHostAlloc(&plain, 64, 0));
  MUST(cuMemHostGetDevicePointer(&device, plain, 0));
  MUST_BE(device == (CUdeviceptr)(uintptr_t)plain, 1);
  return 0;
}
