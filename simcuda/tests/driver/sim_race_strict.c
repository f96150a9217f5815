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
  MUST(cuMemAlloc(&data, 64));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&blocking, 0));
  MUST(cuStreamCreate(&other, NON_BLOCKING));

  RACES(strict, MUST(cuMemAlloc(&brief, 64)); MUST(cuMemsetD8Async(brief, 1, 64, stream));
        MUST(cuMemFree(brief)););
  RACES(0, MUST(cuMemAlloc(&brief, 64)); MUST(cuMemsetD8Async(brief, 1, 64, stream));
        MUST(cuStreamSynchronize(stream)); MUST(cuMemFree(brief)););
  RACES(strict, MUST(cuMemHostAlloc(&locked, 64, 0));
        MUST(cuMemcpyHtoDAsync(data, locked, 64, stream)); MUST(cuMemFreeHost(locked)););
  RACES(0, MUST(cuMemHostAlloc(&locked, 64, 0)); MUST(cuMemcpyHtoDAsync(data, locked, 64, stream));
        MUST(cuStreamSynchronize(stream)); MUST(cuMemFreeHost(locked)););
  RACES(strict, MUST(cuMemHostRegister(page, 4096, 0));
        MUST(cuMemcpyHtoDAsync(data, page, 64, stream)); MUST(cuMemHostUnregister(page)););
  // A free of other memory as a barrier.
  RACES(strict, MUST(cuMemAlloc(&brief, 64)); MUST(cuMemsetD8Async(data, 1, 64, stream));
        MUST(cuMemFree(brief)); MUST(cuMemsetD8Async(data, 2, 64, other)););
  // The legacy stream without work of its own.
  RACES(strict, MUST(cuMemsetD8Async(data, 1, 64, blocking)); MUST(cuStreamSynchronize(LEGACY));
        MUST(cuMemsetD8Async(data, 2, 64, other)););
  RACES(strict, MUST(cuMemsetD8Async(data, 1, 64, blocking));
        while (cuStreamQuery(LEGACY) == NOT_READY); MUST(cuMemsetD8Async(data, 2, 64, other)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, blocking)); MUST(cuMemsetD8Async(data, 3, 64, LEGACY));
        MUST(cuStreamSynchronize(LEGACY)); MUST(cuMemsetD8Async(data, 2, 64, other)););
  // A pageable source has been read in any case.
  RACES(0, MUST(cuMemcpyHtoD(data, page, 64)); MUST(sim.host_access(page, 64, 1)););
  return 0;
}
