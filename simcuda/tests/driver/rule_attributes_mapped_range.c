// SPDX-License-Identifier: BSD-3-Clause
// Rule: Memory mapped by hand has a device and no context: simcuda has no virtual memory
// management.
// Source: assumed; to be checked on a GPU
#include "attributes.h"

typedef struct {
  int type, handle_types, location_type, location_id;
  void *security;
  unsigned char flags[8];
} Properties;

typedef struct {
  int location_type, location_id, flags;
} Access;

int main(void) {
  start();
  USE(cuMemGetAllocationGranularity, 10020, size_t *, const Properties *, int);
  USE(cuMemCreate, 10020, uint64_t *, size_t, const Properties *, unsigned long long);
  USE(cuMemAddressReserve, 10020, CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
  USE(cuMemMap, 10020, CUdeviceptr, size_t, size_t, uint64_t, unsigned long long);
  USE(cuMemSetAccess, 10020, CUdeviceptr, size_t, const Access *, size_t);
  const Properties properties = {.type = 1, .location_type = 1};
  const Access access = {.location_type = 1, .flags = 3};
  size_t size = 0;
  uint64_t handle = 0;
  CUdeviceptr data = 0;
  const CUresult result = cuMemGetAllocationGranularity(&size, &properties, 0);
  FOUND_STATUS("cuMemGetAllocationGranularity", result, SUCCESS);
  if (result != SUCCESS) return 0;
  MUST(cuMemCreate(&handle, size, &properties, 0));
  MUST(cuMemAddressReserve(&data, 2 * size, 0, 0, 0));
  MUST(cuMemMap(data, size, 0, handle, 0));
  MUST(cuMemSetAccess(data, size, &access, 1));
  const Attributes a = attributes_of(data);
  FOUND("device memory", a.of[MEMORY_TYPE] == DEVICE_MEMORY, 1);
  FOUND("has a context", a.of[CONTEXT] != 0, 0);
  FOUND("device 0", a.of[DEVICE_ORDINAL] == 0, 1);
  FOUND("the range is the reserved one", a.of[RANGE_SIZE] == 2 * size, 1);
  return 0;
}
