// SPDX-License-Identifier: BSD-3-Clause
// A freed pointer is a foreign one.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuPointerGetAttributes, 7000, unsigned, int *, void **, CUdeviceptr);
  unsigned type = 99;
  int wanted[] = {2};
  void *values[] = {&type};
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 16));
  MUST(cuMemFree(data));
  MUST_BE(cuPointerGetAttribute(&type, 2, data), INVALID_VALUE);
  MUST(cuPointerGetAttributes(1, wanted, values, data));
  MUST_BE(type, 0);
  return 0;
}
