// SPDX-License-Identifier: BSD-3-Clause
// Virtual memory management, for the rules about it.
#pragma once

#include "driver_test.h"

typedef struct {  // CUmemAllocationProp
  int type, handles, location_type, location_id;
  void *security;
  unsigned char flags[8];
} MemoryProperties;

typedef struct {
  int location_type, location_id, flags;
} VirtualAccess;

typedef unsigned long long Memory;

#define USE_VIRTUAL_MEMORY                                                                \
  USE(cuMemGetAllocationGranularity, 10020, size_t *, const MemoryProperties *, int);     \
  USE(cuMemAddressReserve, 10020, CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t);  \
  USE(cuMemAddressFree, 10020, CUdeviceptr, size_t);                                      \
  USE(cuMemCreate, 10020, Memory *, size_t, const MemoryProperties *, uint64_t);          \
  USE(cuMemRelease, 10020, Memory);                                                       \
  USE(cuMemMap, 10020, CUdeviceptr, size_t, size_t, Memory, uint64_t);                    \
  USE(cuMemUnmap, 10020, CUdeviceptr, size_t);                                            \
  USE(cuMemSetAccess, 10020, CUdeviceptr, size_t, const VirtualAccess *, size_t);         \
  (void)cuMemGetAllocationGranularity, (void)cuMemAddressReserve, (void)cuMemAddressFree, \
      (void)cuMemCreate, (void)cuMemRelease, (void)cuMemMap, (void)cuMemUnmap,            \
      (void)cuMemSetAccess

static const MemoryProperties on_first_device = {.type = 1, .location_type = 1};
static const VirtualAccess by_first_device = {1, 0, 3};
