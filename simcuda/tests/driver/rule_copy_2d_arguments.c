// SPDX-License-Identifier: BSD-3-Clause
// Rule: Copies in two and three dimensions refuse a pitch that is shorter than a row, a height that
// is less than that of a slice, and rows that do not fit in the address space. A pitch that no row
// needs is not looked at.
// Source: cuda.h, cuMemcpy2D and cuMemcpy3D; of the pitch that no row needs what an H100 does
#include "driver_test.h"

typedef struct {
  size_t x, y;
  int type;
  const void *host;
  CUdeviceptr device;
  void *array;
  size_t pitch;
} Side;

typedef struct {
  size_t x, y, z, lod;
  int type;
  const void *host;
  CUdeviceptr device;
  void *array, *reserved;
  size_t pitch, height;
} DeepSide;

int main(void) {
  start();
  USE_MEMORY;
  USE(cuMemcpy2D, 3020, const void *);
  USE(cuMemcpy3D, 3020, const void *);
  enum { DEVICE = 2 };
  const size_t most_pitch = 0x7FFFFFFF;
  CUdeviceptr from, to;
  MUST(cuMemAlloc(&from, 64));
  MUST(cuMemAlloc(&to, 64));
  typedef struct {
    Side from, to;
    size_t width, height;
  } Copy;
  const Copy good = {{0, 0, DEVICE, NULL, from, NULL, 16}, {0, 0, DEVICE, NULL, to, NULL, 8}, 8, 4};
  MUST(cuMemcpy2D(&good));
  MUST_BE(cuMemcpy2D(NULL), INVALID_VALUE);
  Copy copy = good;
  copy.to.pitch = 7;
  MUST_BE(cuMemcpy2D(&copy), INVALID_VALUE);
  copy = good;
  copy.from.x = 9;
  MUST_BE(cuMemcpy2D(&copy), INVALID_VALUE);
  copy = good;
  copy.height = 1;
  copy.to.pitch = most_pitch + 1;  // not used
  MUST(cuMemcpy2D(&copy));
  copy = good;
  copy.height = (size_t)1 << 61;  // 2^64 bytes
  MUST_BE(cuMemcpy2D(&copy), INVALID_VALUE);
  copy = good;
  copy.from.type = 7;
  MUST_BE(cuMemcpy2D(&copy), INVALID_VALUE);
  copy = good;
  copy.width = 0;
  MUST(cuMemcpy2D(&copy));

  struct {
    DeepSide from, to;
    size_t width, height, depth;
  } deep = {{.type = DEVICE, .device = from, .pitch = 8, .height = 4},
            {.type = DEVICE, .device = to, .pitch = 8, .height = 4},
            8,
            4,
            2};
  MUST(cuMemcpy3D(&deep));
  deep.from.height = 3;
  MUST_BE(cuMemcpy3D(&deep), INVALID_VALUE);
  return 0;
}
