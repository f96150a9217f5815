// SPDX-License-Identifier: BSD-3-Clause
// Rule: The plural query never fails on a foreign pointer, it gives nulls; the singular one does.
// Source: cuda.h, cuPointerGetAttributes and cuPointerGetAttribute
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuPointerGetAttributes, 7000, unsigned, int *, void **, CUdeviceptr);
  enum { MEMORY_TYPE = 2, DEVICE_POINTER = 3, IS_MANAGED = 8, DEVICE_ORDINAL = 9 };
  int foreign = 0;
  unsigned type = 99, managed = 99;
  CUdeviceptr pointer = 99, data;
  int ordinal = 99;
  int wanted[] = {MEMORY_TYPE, IS_MANAGED, DEVICE_POINTER};
  void *values[] = {&type, &managed, &pointer};
  MUST(cuPointerGetAttributes(3, wanted, values, (CUdeviceptr)(uintptr_t)&foreign));
  MUST_BE(type, 0);
  MUST_BE(managed, 0);
  MUST_BE(pointer, 0);
  MUST_BE(cuPointerGetAttribute(&type, MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&foreign),
          INVALID_VALUE);
  MUST(cuMemAlloc(&data, 16));
  MUST(cuPointerGetAttributes(3, wanted, values, data + 4));
  MUST_BE(type, 2);
  MUST_BE(managed, 0);
  MUST_BE(pointer == data + 4, 1);
  MUST(cuPointerGetAttribute(&ordinal, DEVICE_ORDINAL, data));
  MUST_BE(ordinal, 0);
  return 0;
}
