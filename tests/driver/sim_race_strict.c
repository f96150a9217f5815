// SPDX-License-Identifier: BSD-3-Clause
// SIMCUDA_STRICT=1: nothing is ordered by a free, or by waiting for the legacy stream alone.
#include "race_test.h"

int main(int argc, char **argv) {
  (void)argv;
  const int strict = argc > 1;
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuMemFreeHost, 2000, void *);
  USE(cuMemHostRegister, 6050, void *, size_t, unsigned);
  USE(cuMemHostUnregister, 4000, void *);
  USE(cuMemcpyHtoDAsync, 3020, CUdeviceptr, const void *, size_t, CUstream);
  static unsigned char page[4096] __attribute__((aligned(4096)));
  CUdeviceptr data, brief;
  CUstream stream, blocking, other;
  void *locked;
  OK(cuMemAlloc(&data, 64));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&blocking, 0));
  OK(cuStreamCreate(&other, NON_BLOCKING));

  RACES(strict, OK(cuMemAlloc(&brief, 64)); OK(cuMemsetD8Async(brief, 1, 64, stream));
        OK(cuMemFree(brief)););
  RACES(0, OK(cuMemAlloc(&brief, 64)); OK(cuMemsetD8Async(brief, 1, 64, stream));
        OK(cuStreamSynchronize(stream)); OK(cuMemFree(brief)););
  RACES(strict, OK(cuMemHostAlloc(&locked, 64, 0)); OK(cuMemcpyHtoDAsync(data, locked, 64, stream));
        OK(cuMemFreeHost(locked)););
  RACES(0, OK(cuMemHostAlloc(&locked, 64, 0)); OK(cuMemcpyHtoDAsync(data, locked, 64, stream));
        OK(cuStreamSynchronize(stream)); OK(cuMemFreeHost(locked)););
  RACES(strict, OK(cuMemHostRegister(page, 4096, 0)); OK(cuMemcpyHtoDAsync(data, page, 64, stream));
        OK(cuMemHostUnregister(page)););
  // A free of other memory as a barrier.
  RACES(strict, OK(cuMemAlloc(&brief, 64)); OK(cuMemsetD8Async(data, 1, 64, stream));
        OK(cuMemFree(brief)); OK(cuMemsetD8Async(data, 2, 64, other)););
  // The legacy stream without work of its own.
  RACES(strict, OK(cuMemsetD8Async(data, 1, 64, blocking)); OK(cuStreamSynchronize(LEGACY));
        OK(cuMemsetD8Async(data, 2, 64, other)););
  RACES(strict, OK(cuMemsetD8Async(data, 1, 64, blocking));
        while (cuStreamQuery(LEGACY) == NOT_READY); OK(cuMemsetD8Async(data, 2, 64, other)););
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, blocking)); OK(cuMemsetD8Async(data, 3, 64, LEGACY));
        OK(cuStreamSynchronize(LEGACY)); OK(cuMemsetD8Async(data, 2, 64, other)););
  // A pageable source has been read in any case.
  RACES(0, OK(cuMemcpyHtoD(data, page, 64)); OK(sim.host_access(page, 64, 1)););
  return 0;
}
