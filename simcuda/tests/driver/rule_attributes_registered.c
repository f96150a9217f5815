// SPDX-License-Identifier: BSD-3-Clause
// Rule: Registered memory is of host type, by either of its addresses, until it is unregistered.
// Source: cuda.h, cuMemHostRegister and cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  start();
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  unsigned char *host = new_page();
  CUdeviceptr device;
  MUST(cuMemHostRegister(host, PAGE, 2));
  MUST(cuMemHostGetDevicePointer(&device, host, 0));
  const CUdeviceptr addresses[] = {address_of(host), device};
  for (int i = 0; i < 2; ++i) {
    const Attributes a = attributes_of(addresses[i] + 8);
    MUST_BE(a.of[MEMORY_TYPE], HOST_MEMORY);
    MUST_BE(a.of[HOST_POINTER] == address_of(host + 8), 1);
    MUST_BE(a.of[DEVICE_POINTER] == device + 8, 1);
  }
  MUST(cuMemHostUnregister(host));
  MUST_BE(attributes_of(address_of(host)).of[MEMORY_TYPE], NO_MEMORY);
  return 0;
}
