// SPDX-License-Identifier: BSD-3-Clause
// The legacy stream is ordered with the blocking streams of its context, the per-thread ones too,
// whether they live or not; a non-blocking stream is outside, and two blocking ones are not
// ordered.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  CUdeviceptr data, copy;
  CUstream blocking, second, free, brief;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemAlloc(&copy, 64));
  MUST(cuStreamCreate(&blocking, 0));
  MUST(cuStreamCreate(&second, 0));
  MUST(cuStreamCreate(&free, NON_BLOCKING));

  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, blocking));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, LEGACY)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, free));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, LEGACY)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, LEGACY));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, blocking)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, LEGACY));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, free)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, PER_THREAD));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, LEGACY)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, PER_THREAD));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, blocking)););
  // Two blocking streams need a barrier between them.
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, blocking));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, second)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, blocking)); MUST(cuMemsetD8Async(copy, 1, 64, LEGACY));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, second)););
  // It holds for a stream that was destroyed, and for one that began later.
  RACES(0, MUST(cuStreamCreate(&brief, 0)); MUST(cuMemsetD8Async(data, 1, 64, brief));
        MUST(cuStreamDestroy(brief)); MUST(cuMemcpyDtoDAsync(copy, data, 64, LEGACY)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, LEGACY)); MUST(cuStreamCreate(&brief, 0));
        MUST(cuMemcpyDtoDAsync(copy, data, 64, brief)); MUST(cuStreamDestroy(brief)););
  return 0;
}
