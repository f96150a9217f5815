// SPDX-License-Identifier: BSD-3-Clause
// Bytes decide, not allocations: columns of a matrix that do not meet do not race, and one byte
// that does is enough.
#include "race_test.h"

typedef struct {
  size_t srcXInBytes, srcY;
  unsigned srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch, dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch, WidthInBytes, Height;
} Copy2D;

typedef struct {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray, *reserved0;
  size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray, *reserved1;
  size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} Copy3D;

enum { DEVICE = 2, PITCH = 32, ROWS = 8, SLICES = 4, SIZE = PITCH * ROWS * SLICES };
static CUdeviceptr matrix, tile;

static Copy2D columns(size_t from, size_t count) {
  const Copy2D copy = {.srcMemoryType = DEVICE,
                       .srcDevice = tile + from,
                       .srcPitch = PITCH,
                       .dstXInBytes = from,
                       .dstMemoryType = DEVICE,
                       .dstDevice = matrix,
                       .dstPitch = PITCH,
                       .WidthInBytes = count,
                       .Height = ROWS};
  return copy;
}

static Copy3D box(size_t x, size_t y, size_t z, size_t width, size_t height, size_t depth) {
  const Copy3D copy = {.srcXInBytes = x,
                       .srcY = y,
                       .srcZ = z,
                       .srcMemoryType = DEVICE,
                       .srcDevice = tile,
                       .srcPitch = PITCH,
                       .srcHeight = ROWS,
                       .dstXInBytes = x,
                       .dstY = y,
                       .dstZ = z,
                       .dstMemoryType = DEVICE,
                       .dstDevice = matrix,
                       .dstPitch = PITCH,
                       .dstHeight = ROWS,
                       .WidthInBytes = width,
                       .Height = height,
                       .Depth = depth};
  return copy;
}

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemcpy2DAsync, 3020, const Copy2D *, CUstream);
  USE(cuMemcpy3DAsync, 3020, const Copy3D *, CUstream);
  USE(cuMemsetD2D8Async, 3020, CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream);
  USE_EVENTS;
  CUevent event;
  CUstream one, two, three;
  MUST(cuMemAlloc(&matrix, SIZE));
  MUST(cuMemAlloc(&tile, SIZE));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuStreamCreate(&three, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));

  RACES(0, MUST(cuMemsetD8Async(matrix, 1, 16, one));
        MUST(cuMemsetD8Async(matrix + 16, 1, 16, two)););
  RACES(1, MUST(cuMemsetD8Async(matrix, 1, 16, one));
        MUST(cuMemsetD8Async(matrix + 15, 1, 1, two)););
  // One use may race with many before it, and they are as many races.
  RACES(3, for (unsigned i = 0; i < 3; ++i) MUST(cuMemsetD8Async(matrix + 8 * i, 1, 8, one));
        MUST(cuMemsetD8Async(matrix, 2, SIZE, two)););
  // A use of some bytes of another use's range is no use of the others.
  RACES(0, MUST(cuMemsetD8Async(matrix, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuStreamWaitEvent(three, event, 0));
        MUST(cuMemcpyDtoDAsync(tile, matrix, 32, two));
        MUST(cuMemsetD8Async(matrix + 32, 2, 32, three)););
  // Later work of the first stream replaces its earlier work.
  RACES(1, for (unsigned i = 0; i < 3; ++i) MUST(cuMemsetD8Async(matrix, 1, SIZE, one));
        MUST(cuMemsetD8Async(matrix + 1, 2, 1, two)););

  const Copy2D left = columns(0, 16), right = columns(16, 16), middle = columns(15, 2);
  RACES(0, MUST(cuMemcpy2DAsync(&left, one)); MUST(cuMemcpy2DAsync(&right, two)););
  RACES(1, MUST(cuMemcpy2DAsync(&left, one)); MUST(cuMemcpy2DAsync(&middle, two)););
  RACES(2, MUST(cuMemcpy2DAsync(&left, one)); MUST(cuMemcpy2DAsync(&right, one));
        MUST(cuMemsetD2D8Async(matrix + 8, PITCH, 0, 16, ROWS, two)););
  RACES(0, MUST(cuMemcpy2DAsync(&left, one));
        MUST(cuMemsetD2D8Async(matrix + 16, PITCH, 0, 16, ROWS, two)););
  RACES(1, MUST(cuMemcpy2DAsync(&left, one));
        MUST(cuMemsetD8Async(matrix + (ROWS - 1) * PITCH + 15, 0, 2, two)););
  RACES(0, MUST(cuMemcpy2DAsync(&left, one));
        MUST(cuMemsetD8Async(matrix + (ROWS - 1) * PITCH + 16, 0, 16, two)););

  const Copy3D front = box(4, 2, 1, 8, 4, 2), beside = box(12, 2, 1, 8, 4, 2),
               below = box(4, 6, 1, 8, 2, 2), behind = box(4, 2, 3, 8, 4, 1),
               corner = box(11, 5, 2, 1, 1, 1);
  RACES(0, MUST(cuMemcpy3DAsync(&front, one)); MUST(cuMemcpy3DAsync(&beside, two)););
  RACES(0, MUST(cuMemcpy3DAsync(&front, one)); MUST(cuMemcpy3DAsync(&below, two)););
  RACES(0, MUST(cuMemcpy3DAsync(&front, one)); MUST(cuMemcpy3DAsync(&behind, two)););
  RACES(1, MUST(cuMemcpy3DAsync(&front, one)); MUST(cuMemcpy3DAsync(&corner, two)););
  return 0;
}
