// SPDX-License-Identifier: BSD-3-Clause
// Rule: Managed memory says that it is, with one address for host and device.
// Source: cuda.h, cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  start();
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr data;
  MUST(cuMemAllocManaged(&data, 4096, 1));
  const Attributes a = attributes_of(data + 100);
  MUST_BE(a.of[IS_MANAGED], 1);
  MUST_BE(a.of[DEVICE_POINTER] == data + 100, 1);
  MUST_BE(a.of[HOST_POINTER] == data + 100, 1);
  return 0;
}
