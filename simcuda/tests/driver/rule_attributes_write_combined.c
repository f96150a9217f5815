// SPDX-License-Identifier: BSD-3-Clause
// Rule: Write-combined memory is of host type, and its device address is the one to give to the
// device.
// Source: cuda.h, cuMemHostAlloc and cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  start();
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  enum { DEVICE_MAP = 2, WRITE_COMBINED = 4 };
  unsigned char *host;
  CUdeviceptr device;
  MUST(cuMemHostAlloc((void **)&host, 4096, DEVICE_MAP | WRITE_COMBINED));
  MUST(cuMemHostGetDevicePointer(&device, host, 0));
  const Attributes a = attributes_of(address_of(host));
  MUST_BE(a.of[MEMORY_TYPE], HOST_MEMORY);
  MUST_BE(a.of[HOST_POINTER] == address_of(host), 1);
  MUST_BE(a.of[DEVICE_POINTER] == device, 1);
  return 0;
}
