// SPDX-License-Identifier: BSD-3-Clause
// For programs about CUDA arrays.
#pragma once

#include "driver_test.h"

typedef void *CUarray;

typedef struct {
  size_t width, height;
  int format;
  unsigned channels;
} ArrayDescriptor;

typedef struct {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
} Array3DDescriptor;

typedef struct {
  size_t x, y, z, level;
  int type;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  void *reserved;
  size_t pitch, height;
} Side3D;

typedef struct {
  Side3D from, to;
  size_t width, height, depth;
} Copy3D;

typedef struct {
  size_t x, y;
  int type;
  const void *host;
  CUdeviceptr device;
  CUarray array;
  size_t pitch;
} Side2D;

typedef struct {
  Side2D from, to;
  size_t width, height;
} Copy2D;

enum { UINT8 = 1, UINT16 = 2, FLOAT32 = 0x20, LAYERED = 1, HOST = 1, DEVICE = 2, ARRAY = 3 };

#define USE_ARRAYS                                                                              \
  USE(cuArrayCreate, 3020, CUarray *, const ArrayDescriptor *);                                 \
  USE(cuArray3DCreate, 3020, CUarray *, const Array3DDescriptor *);                             \
  USE(cuArrayDestroy, 2000, CUarray);                                                           \
  USE(cuArrayGetDescriptor, 3020, ArrayDescriptor *, CUarray);                                  \
  USE(cuArray3DGetDescriptor, 3020, Array3DDescriptor *, CUarray);                              \
  USE(cuMemcpy2D, 3020, const Copy2D *);                                                        \
  USE(cuMemcpy2DAsync, 3020, const Copy2D *, CUstream);                                         \
  USE(cuMemcpy3D, 3020, const Copy3D *);                                                        \
  (void)cuArrayCreate, (void)cuArray3DCreate, (void)cuArrayDestroy, (void)cuArrayGetDescriptor, \
      (void)cuArray3DGetDescriptor, (void)cuMemcpy2D, (void)cuMemcpy2DAsync, (void)cuMemcpy3D
