// SPDX-License-Identifier: BSD-3-Clause
// Rule: Pinned memory is of host type, with the address by which the device knows it.
// Source: cuda.h, cuPointerGetAttribute and cuMemHostGetDevicePointer
#include "attributes.h"

int main(void) {
  start();
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  unsigned char *host;
  CUdeviceptr device;
  MUST(cuMemHostAlloc((void **)&host, 4096, 2));
  MUST(cuMemHostGetDevicePointer(&device, host + 100, 0));
  const Attributes a = attributes_of(address_of(host + 100));
  MUST_BE(a.of[MEMORY_TYPE], HOST_MEMORY);
  MUST_BE(a.of[HOST_POINTER] == address_of(host + 100), 1);
  MUST_BE(a.of[DEVICE_POINTER] == device, 1);
  MUST_BE(a.of[IS_MANAGED], 0);
  return 0;
}
