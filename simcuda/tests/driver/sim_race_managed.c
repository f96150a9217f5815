// SPDX-License-Identifier: BSD-3-Clause
// Managed memory is the host's again once the work that uses it is waited for.
#include "race_test.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemsetD8, 3020, CUdeviceptr, unsigned char, size_t);
  USE(cuMemDiscardBatchAsync, 13000, CUdeviceptr *, size_t *, size_t, unsigned long long, CUstream);
  enum { READ, WRITE };
  CUdeviceptr managed;
  CUstream stream, other;
  size_t size = 64;
  MUST(cuMemAllocManaged(&managed, 64, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  void *const address = (void *)(uintptr_t)managed;

  RACES(1, MUST(cuMemsetD8Async(managed, 1, 64, stream));
        MUST(sim.host_access(address, 64, READ)););
  RACES(0, MUST(cuMemsetD8Async(managed, 1, 64, stream)); MUST(cuStreamSynchronize(stream));
        MUST(sim.host_access(address, 64, READ)););
  RACES(1, MUST(cuMemsetD8Async(managed, 1, 32, stream));
        MUST(sim.host_access((char *)address + 31, 1, WRITE)););
  RACES(0, MUST(cuMemsetD8Async(managed, 1, 32, stream));
        MUST(sim.host_access((char *)address + 32, 32, WRITE)););
  // The blocking form waits where the host can look.
  RACES(0, MUST(cuMemsetD8(managed, 1, 64)); MUST(sim.host_access(address, 64, READ)););
  // A discard takes away what was there.
  RACES(1, MUST(cuMemsetD8Async(managed, 1, 64, stream));
        MUST(cuMemDiscardBatchAsync(&managed, &size, 1, 0, other)););
  RACES(0, MUST(cuMemsetD8Async(managed, 1, 64, stream)); MUST(cuStreamSynchronize(stream));
        MUST(cuMemDiscardBatchAsync(&managed, &size, 1, 0, other)););
  MUST(cuStreamSynchronize(other));
  MUST_BE(*(unsigned char *)address, 0xCB);
  // Launched after the host's write.
  RACES(0, MUST(sim.host_access(address, 64, WRITE));
        MUST(cuMemsetD8Async(managed, 1, 64, stream)););
  return 0;
}
