// SPDX-License-Identifier: BSD-3-Clause
// Rule: Pinned memory has one address; registered and write-combined memory may have two.
// Source: CUDA driver API manual, Unified addressing; to be checked on a GPU
#include "attributes.h"

int main(void) {
  start();
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  unsigned char *registered = new_page();
  void *pinned, *combined;
  CUdeviceptr device;
  MUST(cuMemHostAlloc(&pinned, 4096, 2));
  MUST(cuMemHostGetDevicePointer(&device, pinned, 0));
  FOUND("pinned: one address", device == address_of(pinned), 1);
  MUST(cuMemHostAlloc(&combined, 4096, 2 | 4));
  MUST(cuMemHostGetDevicePointer(&device, combined, 0));
  FOUND("write-combined: one address", device == address_of(combined), 1);
  MUST(cuMemHostRegister(registered, PAGE, 2));
  MUST(cuMemHostGetDevicePointer(&device, registered, 0));
  FOUND("registered: one address", device == address_of(registered), 1);
  return 0;
}
