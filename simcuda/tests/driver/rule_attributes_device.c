// SPDX-License-Identifier: BSD-3-Clause
// Rule: Device memory is of device type, with its context, ordinal and range; the host cannot
// reach it.
// Source: cuda.h, cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  const CUcontext context = start();
  USE_MEMORY;
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 4096));
  const Attributes a = attributes_of(data + 100);
  MUST_BE(a.of[MEMORY_TYPE], DEVICE_MEMORY);
  MUST_BE(a.of[CONTEXT] == address_of(context), 1);
  MUST_BE(a.of[DEVICE_ORDINAL], 0);
  MUST_BE(a.of[DEVICE_POINTER] == data + 100, 1);
  MUST_BE(a.of[HOST_POINTER], 0);
  MUST_BE(a.of[IS_MANAGED], 0);
  MUST_BE(a.of[MAPPED], 1);
  MUST_BE(a.of[MEMPOOL_HANDLE], 0);
  MUST_BE(a.of[RANGE_START] <= data, 1);
  MUST_BE(a.of[RANGE_START] + a.of[RANGE_SIZE] >= data + 4096, 1);
  return 0;
}
