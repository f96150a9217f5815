// SPDX-License-Identifier: BSD-3-Clause
// Copies of pageable memory leave it to the host when they return, copies of page-locked memory do
// not, unless they are of the blocking kind.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemHostGetDevicePointer, 3020, CUdeviceptr *, void *, unsigned);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  enum { READ, WRITE, PAGE = 4096 };
  static unsigned char pageable[64], page[PAGE] __attribute__((aligned(4096)));
  unsigned char *locked, *combined;
  CUdeviceptr data, page_on_device, combined_on_device;
  CUstream stream, other;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemHostAlloc((void **)&locked, 64, 0));
  MUST(cuMemHostAlloc((void **)&combined, 64, 4));
  MUST(cuMemHostGetDevicePointer(&combined_on_device, combined, 0));
  MUST(cuMemHostRegister(page, PAGE, 0));
  MUST(cuMemHostGetDevicePointer(&page_on_device, page, 0));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));

  // To the host.
  RACES(0, MUST(cuMemcpyDtoHAsync(pageable, data, 64, stream));
        MUST(sim.host_access(pageable, 64, READ)););
  RACES(1, MUST(cuMemcpyDtoHAsync(locked, data, 64, stream));
        MUST(sim.host_access(locked, 64, READ)););
  RACES(0, MUST(cuMemcpyDtoHAsync(locked, data, 64, stream)); MUST(cuStreamSynchronize(stream));
        MUST(sim.host_access(locked, 64, READ)););
  RACES(0, MUST(cuMemcpyDtoHAsync(locked, data, 32, stream));
        MUST(sim.host_access(locked + 32, 32, READ)););
  RACES(0, MUST(cuMemcpyDtoH(locked, data, 64)); MUST(sim.host_access(locked, 64, WRITE)););
  // To the device: the host must not change the source, and may read it.
  RACES(0, MUST(cuMemcpyHtoDAsync(data, pageable, 64, stream));
        MUST(sim.host_access(pageable, 64, WRITE)););
  RACES(1, MUST(cuMemcpyHtoDAsync(data, locked, 64, stream));
        MUST(sim.host_access(locked, 64, WRITE)););
  RACES(0, MUST(cuMemcpyHtoDAsync(data, locked, 64, stream));
        MUST(sim.host_access(locked, 64, READ)););
  RACES(0, MUST(cuMemcpyHtoD(data, locked, 64)); MUST(sim.host_access(locked, 64, WRITE)););
  // What the host did before comes before the copy.
  RACES(0, MUST(sim.host_access(locked, 64, WRITE));
        MUST(cuMemcpyHtoDAsync(data, locked, 64, stream)););
  // Two addresses of the same bytes.
  RACES(1, MUST(cuMemcpyDtoHAsync(page + 64, data, 64, stream));
        MUST(cuMemsetD8Async(page_on_device + 127, 0, 1, other)););
  RACES(0, MUST(cuMemcpyDtoHAsync(page + 64, data, 64, stream));
        MUST(cuMemsetD8Async(page_on_device + 128, 0, 1, other)););
  RACES(1, MUST(cuMemcpyDtoHAsync(combined, data, 64, stream));
        MUST(cuMemsetD8Async(combined_on_device + 63, 0, 1, other)););
  // The device's side of the same copies; that of a pageable one may be late.
  RACES(1, MUST(cuMemcpyHtoD(data, pageable, 64)); MUST(cuMemsetD8Async(data, 0, 1, stream)););
  RACES(0, MUST(cuMemcpyHtoD(data, pageable, 64)); MUST(cuStreamSynchronize(LEGACY));
        MUST(cuMemsetD8Async(data, 0, 1, stream)););
  // The host cannot access device memory, nor memory that does not exist.
  MUST_BE(sim.host_access((void *)(uintptr_t)data, 1, READ), INVALID_VALUE);
  MUST_BE(sim.host_access(locked, 65, READ), INVALID_VALUE);
  MUST_BE(sim.host_access(NULL, 1, READ), INVALID_VALUE);
  MUST(sim.host_access(NULL, 0, READ));
  RACES(0, MUST(cuMemcpyDtoHAsync(locked, data, 64, stream)); MUST(cuMemFreeHost(locked)););
  RACES(0, MUST(cuMemcpyDtoHAsync(page, data, 64, stream)); MUST(cuMemHostUnregister(page)););
  return 0;
}
