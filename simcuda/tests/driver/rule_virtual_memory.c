// SPDX-License-Identifier: BSD-3-Clause
// Rule: Addresses are reserved, memory is made, and mapped there; it can be used once a device has
// access; it stays until it is neither mapped nor held, at whatever address it was mapped.
// Source: cuda.h, cuMemCreate, cuMemMap, cuMemSetAccess; the range to be checked on a GPU
#include "attributes.h"
#include "virtual.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_VIRTUAL_MEMORY;
  USE(cuMemRetainAllocationHandle, 11000, Memory *, void *);
  USE(cuMemGetAllocationPropertiesFromHandle, 10020, MemoryProperties *, Memory);
  USE(cuMemGetAccess, 10020, uint64_t *, const void *, CUdeviceptr);
  USE(cuMemGetAddressRange, 3020, CUdeviceptr *, size_t *, CUdeviceptr);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuIpcGetMemHandle, 4010, void *, CUdeviceptr);
  const MemoryProperties none = {0};
  MemoryProperties told = {0};
  CUdeviceptr range = 0, second, base;
  size_t piece = 0, size = 0;
  Memory memory, again, retained, nothing = 0;
  uint64_t access = 9;
  struct {
    char bytes[64];
  } handle;
  unsigned char byte = 0;
  MUST(cuMemGetAllocationGranularity(&piece, &on_first_device, 0));
  MUST_HOLD(piece > 0);
  MUST(cuMemGetAllocationGranularity(&size, &none, 0));  // of no kind and no place
  MUST_HOLD(size > 0);
  MUST_BE(cuMemGetAllocationGranularity(&piece, &on_first_device, 9), INVALID_VALUE);
  MUST(cuMemAddressReserve(&range, 4 * piece, 0, 0, 0));
  MUST(cuMemAddressReserve(&second, piece, 0, 0, 0));
  MUST_BE(cuMemAddressReserve(&base, 0, 0, 0, 0), INVALID_VALUE);
  MUST_BE(cuMemAddressReserve(&base, piece, 3, 0, 0), INVALID_VALUE);
  MUST(cuMemCreate(&memory, piece, &on_first_device, 0));
  MUST(cuMemCreate(&again, piece, &on_first_device, 0));
  MUST_BE(cuMemCreate(&nothing, piece + 1, &on_first_device, 0), INVALID_VALUE);
  MUST_BE(cuMemCreate(&nothing, 0, &on_first_device, 0), INVALID_VALUE);
  MUST_BE(cuMemCreate(&nothing, piece, &on_first_device, 1), INVALID_VALUE);  // no flag is known
  MUST(cuMemGetAllocationGranularity(&size, &on_first_device, 1));            // as is recommended
  MUST_HOLD(size >= piece);
  MUST(cuMemGetAllocationPropertiesFromHandle(&told, memory));
  MUST_BE(told.type == 1 && told.location_id == 0, 1);

  MUST_BE(cuMemMap(range, piece, 0, nothing, 0), INVALID_VALUE);
  MUST_BE(cuMemMap(range + 4 * piece, piece, 0, memory, 0), INVALID_VALUE);
  MUST_BE(cuMemMap(range, piece, piece, memory, 0), INVALID_VALUE);  // the offset must be 0
  MUST_BE(cuMemMap(range, 2 * piece, 0, memory, 0), INVALID_VALUE);  // it is smaller
  MUST(cuMemMap(range, piece, 0, memory, 0));
  MUST_BE(cuMemMap(range, piece, 0, again, 0), INVALID_VALUE);  // it is taken
  MUST(cuMemMap(range + piece, piece, 0, again, 0));
  MUST_BE(cuMemsetD8Async(range, 1, 1, LEGACY), INVALID_VALUE);  // no access yet
  MUST(cuMemGetAccess(&access, &by_first_device, range));
  MUST_BE(access, 0);
  MUST_BE(cuMemSetAccess(range, 3 * piece, &by_first_device, 1), INVALID_VALUE);
  MUST(cuMemSetAccess(range, 2 * piece, &by_first_device, 1));
  MUST(cuMemGetAccess(&access, &by_first_device, range));
  MUST_BE(access, 3);
  MUST(cuMemsetD8Async(range, 1, piece, LEGACY));
  MUST(cuMemsetD8Async(range + piece, 2, piece, LEGACY));
  MUST(cuMemcpyDtoDAsync(range + piece, range, 16, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemcpyDtoH(&byte, range + piece, 1));
  MUST_BE(byte, 1);
  MUST(cuMemcpyDtoH(&byte, range + 2 * piece - 1, 1));
  MUST_BE(byte, 2);
  MUST(cuMemGetAddressRange(&base, &size, range + piece + 5));
  MUST_BE(base == range + piece && size == piece, 1);
  const Attributes a = attributes_of(range + piece);
  MUST_BE(a.of[MEMORY_TYPE], DEVICE_MEMORY);
  MUST_BE(a.of[IPC_CAPABLE], 0);
  FOUND("the range is what was reserved",
        a.of[RANGE_START] == range && a.of[RANGE_SIZE] == 4 * piece, 1);
  MUST_BE(cuMemFree(range), INVALID_VALUE);
  MUST_BE(cuMemFreeAsync(range, LEGACY), INVALID_VALUE);
  MUST_BE(cuIpcGetMemHandle(&handle, range) != SUCCESS, 1);

  // The same memory at another address.
  MUST(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)(range + 5)));
  MUST(cuMemRelease(memory));
  MUST(cuMemMap(second, piece, 0, retained, 0));
  MUST(cuMemSetAccess(second, piece, &by_first_device, 1));
  MUST(cuMemcpyDtoH(&byte, second, 1));
  MUST_BE(byte, 1);
  MUST(cuMemsetD8Async(second, 9, 1, LEGACY));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuMemcpyDtoH(&byte, range, 1));
  MUST_BE(byte, 9);

  MUST_BE(cuMemAddressFree(range, 4 * piece) != SUCCESS, 1);  // something is mapped there
  MUST_BE(cuMemUnmap(range, 0), INVALID_VALUE);
  MUST(cuMemUnmap(range, 2 * piece));
  FOUND_STATUS("to unmap what is not mapped", cuMemUnmap(range, piece), SUCCESS);
  MUST_BE(cuMemsetD8Async(range, 1, 1, LEGACY), INVALID_VALUE);
  MUST(cuMemcpyDtoH(&byte, second, 1));
  MUST_BE(byte, 9);
  MUST_BE(cuMemAddressFree(range, piece), INVALID_VALUE);
  MUST(cuMemAddressFree(range, 4 * piece));
  MUST_BE(cuMemAddressFree(range, 4 * piece), INVALID_VALUE);
  MUST(cuMemRelease(again));
  MUST_BE(cuMemRelease(again), INVALID_VALUE);
  MUST(cuMemRelease(retained));
  MUST(cuMemUnmap(second, piece));
  MUST(cuMemAddressFree(second, piece));
  return 0;
}
