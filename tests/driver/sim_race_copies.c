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
  OK(cuMemAlloc(&data, 64));
  OK(cuMemHostAlloc((void **)&locked, 64, 0));
  OK(cuMemHostAlloc((void **)&combined, 64, 4));
  OK(cuMemHostGetDevicePointer(&combined_on_device, combined, 0));
  OK(cuMemHostRegister(page, PAGE, 0));
  OK(cuMemHostGetDevicePointer(&page_on_device, page, 0));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));

  // To the host.
  RACES(0, OK(cuMemcpyDtoHAsync(pageable, data, 64, stream));
        OK(sim.host_access(pageable, 64, READ)););
  RACES(1, OK(cuMemcpyDtoHAsync(locked, data, 64, stream)); OK(sim.host_access(locked, 64, READ)););
  RACES(0, OK(cuMemcpyDtoHAsync(locked, data, 64, stream)); OK(cuStreamSynchronize(stream));
        OK(sim.host_access(locked, 64, READ)););
  RACES(0, OK(cuMemcpyDtoHAsync(locked, data, 32, stream));
        OK(sim.host_access(locked + 32, 32, READ)););
  RACES(0, OK(cuMemcpyDtoH(locked, data, 64)); OK(sim.host_access(locked, 64, WRITE)););
  // To the device: the host may not change the source, and may look at it.
  RACES(0, OK(cuMemcpyHtoDAsync(data, pageable, 64, stream));
        OK(sim.host_access(pageable, 64, WRITE)););
  RACES(1, OK(cuMemcpyHtoDAsync(data, locked, 64, stream));
        OK(sim.host_access(locked, 64, WRITE)););
  RACES(0, OK(cuMemcpyHtoDAsync(data, locked, 64, stream)); OK(sim.host_access(locked, 64, READ)););
  RACES(0, OK(cuMemcpyHtoD(data, locked, 64)); OK(sim.host_access(locked, 64, WRITE)););
  // What the host did before comes before.
  RACES(0, OK(sim.host_access(locked, 64, WRITE));
        OK(cuMemcpyHtoDAsync(data, locked, 64, stream)););
  // Two addresses of the same bytes.
  RACES(1, OK(cuMemcpyDtoHAsync(page + 64, data, 64, stream));
        OK(cuMemsetD8Async(page_on_device + 127, 0, 1, other)););
  RACES(0, OK(cuMemcpyDtoHAsync(page + 64, data, 64, stream));
        OK(cuMemsetD8Async(page_on_device + 128, 0, 1, other)););
  RACES(1, OK(cuMemcpyDtoHAsync(combined, data, 64, stream));
        OK(cuMemsetD8Async(combined_on_device + 63, 0, 1, other)););
  // The device's side of the same copies; that of a pageable one may be late.
  RACES(1, OK(cuMemcpyHtoD(data, pageable, 64)); OK(cuMemsetD8Async(data, 0, 1, stream)););
  RACES(0, OK(cuMemcpyHtoD(data, pageable, 64)); OK(cuStreamSynchronize(LEGACY));
        OK(cuMemsetD8Async(data, 0, 1, stream)););
  // The host can't touch memory of the device, nor what is not there.
  EXPECT(sim.host_access((void *)(uintptr_t)data, 1, READ), INVALID_VALUE);
  EXPECT(sim.host_access(locked, 65, READ), INVALID_VALUE);
  EXPECT(sim.host_access(NULL, 1, READ), INVALID_VALUE);
  OK(sim.host_access(NULL, 0, READ));
  RACES(0, OK(cuMemcpyDtoHAsync(locked, data, 64, stream)); OK(cuMemFreeHost(locked)););
  RACES(0, OK(cuMemcpyDtoHAsync(page, data, 64, stream)); OK(cuMemHostUnregister(page)););
  return 0;
}
