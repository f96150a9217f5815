// SPDX-License-Identifier: BSD-3-Clause
// Rule: Without a context there is no memory and no stream; before cuInit there is nothing.
// Source: cuda.h, the return values of each function
#include "driver_test.h"

int main(void) {
  open_driver();
  USE(cuInit, 2000, unsigned);
  USE(cuMemAlloc, 3020, CUdeviceptr *, size_t);
  USE(cuStreamCreate, 2000, CUstream *, unsigned);
  USE(cuDeviceGet, 2000, CUdevice *, int);
  CUdeviceptr data;
  CUstream stream;
  CUdevice device;
  MUST_BE(cuDeviceGet(&device, 0), NOT_INITIALIZED);
  MUST(cuInit(0));
  MUST_BE(cuMemAlloc(&data, 1), INVALID_CONTEXT);
  MUST_BE(cuStreamCreate(&stream, 0), INVALID_CONTEXT);
  MUST_BE(cuDeviceGet(&device, 99), 101);
  return 0;
}
