// SPDX-License-Identifier: BSD-3-Clause
// Rule: Device memory is of device type, with its context, ordinal and range; the host cannot
// reach it.
// Source: cuda.h, cuPointerGetAttribute
#include "attributes.h"

int main(void) {
  const CUcontext context = start();
  USE_MEMORY;
  CUdeviceptr data;
  OK(cuMemAlloc(&data, 4096));
  const Attributes a = attributes_of(data + 100);
  EXPECT(a.of[MEMORY_TYPE], DEVICE_MEMORY);
  EXPECT(a.of[CONTEXT] == address_of(context), 1);
  EXPECT(a.of[DEVICE_ORDINAL], 0);
  EXPECT(a.of[DEVICE_POINTER] == data + 100, 1);
  EXPECT(a.of[HOST_POINTER], 0);
  EXPECT(a.of[IS_MANAGED], 0);
  EXPECT(a.of[MAPPED], 1);
  EXPECT(a.of[MEMPOOL_HANDLE], 0);
  EXPECT(a.of[RANGE_START] <= data, 1);
  EXPECT(a.of[RANGE_START] + a.of[RANGE_SIZE] >= data + 4096, 1);
  return 0;
}
