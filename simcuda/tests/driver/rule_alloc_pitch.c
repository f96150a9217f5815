// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory with a pitch has rows of at least the width, so far apart as copies may have them;
// element sizes are 4, 8 and 16.
// Source: cuda.h, cuMemAllocPitch
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemAllocPitch, 3020, CUdeviceptr *, size_t *, size_t, size_t, unsigned);
  USE(cuMemsetD2D8, 3020, CUdeviceptr, size_t, unsigned char, size_t, size_t);
  USE(cuCtxSynchronize, 2000, void);
  enum { WIDTH = 1001, ROWS = 7 };
  CUdeviceptr data = 0;
  size_t pitch = 0;
  unsigned char byte = 0;
  for (unsigned element = 4; element <= 16; element *= 2) {
    MUST(cuMemAllocPitch(&data, &pitch, WIDTH, ROWS, element));
    MUST_BE(pitch >= WIDTH, 1);
    MUST_BE(pitch % element, 0);
    MUST(cuMemsetD2D8(data, pitch, (unsigned char)element, WIDTH, ROWS));
    MUST(cuCtxSynchronize());
    MUST(cuMemcpyDtoH(&byte, data + (ROWS - 1) * pitch + WIDTH - 1, 1));
    MUST_BE(byte, element);
    MUST(cuMemFree(data));
  }
  MUST_BE(cuMemAllocPitch(&data, &pitch, WIDTH, ROWS, 3), INVALID_VALUE);
  MUST_BE(cuMemAllocPitch(&data, &pitch, 0, ROWS, 4), INVALID_VALUE);
  MUST_BE(cuMemAllocPitch(&data, &pitch, WIDTH, 0, 4), INVALID_VALUE);
  return 0;
}
