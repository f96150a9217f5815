// SPDX-License-Identifier: BSD-3-Clause
// Rule: A copy in two dimensions moves the rows and leaves what lies between them.
// Source: cuda.h, cuMemcpy2D
#include "driver_test.h"

typedef struct {
  size_t x, y;
  int type;
  const void *host;
  CUdeviceptr device;
  void *array;
  size_t pitch;
} Side;

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuMemcpy2D, 3020, const void *);
  enum { HOST = 1, DEVICE = 2 };
  const unsigned char source[2][3] = {{1, 2, 3}, {4, 5, 6}};
  unsigned char rows[2][8];
  CUdeviceptr data;
  struct {
    Side from, to;
    size_t width, height;
  } copy = {.from = {1, 0, HOST, source, 0, NULL, 3}, .width = 2, .height = 2};
  MUST(cuMemAlloc(&data, sizeof rows));
  MUST(cuMemsetD8(data, 9, sizeof rows));
  copy.to = (Side){2, 0, DEVICE, NULL, data, NULL, 8};
  MUST(cuMemcpy2D(&copy));
  MUST(cuMemcpyDtoH(rows, data, sizeof rows));
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 8; ++x) MUST_BE(rows[y][x], x == 2 || x == 3 ? source[y][x - 1] : 9);
  return 0;
}
