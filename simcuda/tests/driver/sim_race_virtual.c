// SPDX-License-Identifier: BSD-3-Clause
// Memory that is mapped at several addresses has one past; it is unmapped after its uses.
#include "race_test.h"
#include "virtual.h"

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_VIRTUAL_MEMORY;
  CUdeviceptr one, two;
  Memory memory;
  CUstream a, b;
  size_t piece;
  MUST(cuMemGetAllocationGranularity(&piece, &on_first_device, 0));
  MUST(cuMemAddressReserve(&one, piece, 0, 0, 0));
  MUST(cuMemAddressReserve(&two, piece, 0, 0, 0));
  MUST(cuMemCreate(&memory, piece, &on_first_device, 0));
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
#define MAP                                              \
  MUST(cuMemMap(one, piece, 0, memory, 0));              \
  MUST(cuMemMap(two, piece, 0, memory, 0));              \
  MUST(cuMemSetAccess(one, piece, &by_first_device, 1)); \
  MUST(cuMemSetAccess(two, piece, &by_first_device, 1))
#define UNMAP                   \
  MUST(cuMemUnmap(one, piece)); \
  MUST(cuMemUnmap(two, piece))
  RACES(0, MAP; MUST(cuMemsetD8Async(one, 1, 64, a)); MUST(cuMemsetD8Async(two + 64, 2, 64, b));
        MUST(cuStreamSynchronize(a)); MUST(cuStreamSynchronize(b)); UNMAP;);
  RACES(1, MAP; MUST(cuMemsetD8Async(one, 1, 64, a)); MUST(cuMemsetD8Async(two + 32, 2, 64, b));
        MUST(cuStreamSynchronize(a)); MUST(cuStreamSynchronize(b)); UNMAP;);
  // Nobody has waited for the use before the end of the mapping.
  RACES(1, MAP; MUST(cuMemsetD8Async(one, 1, 64, a)); MUST(cuMemUnmap(one, piece));
        MUST(cuStreamSynchronize(a)); MUST(cuMemUnmap(two, piece)););
  // And what is mapped again goes on.
  RACES(0, MAP; MUST(cuMemsetD8Async(one, 1, 64, a)); MUST(cuStreamSynchronize(a)); UNMAP; MAP;
        MUST(cuMemsetD8Async(one, 1, 64, b)); MUST(cuStreamSynchronize(b)); UNMAP;);
  MUST(cuMemRelease(memory));
  return 0;
}
