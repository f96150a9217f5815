// SPDX-License-Identifier: BSD-3-Clause
// Rule: A copy to pageable memory, "async" too, has arrived when it returns, after all that came
// before.
// Source: CUDA driver API manual, API synchronization behavior; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_GATE;
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  CUstream stream;
  CUdeviceptr data;
  static unsigned char target;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemsetD8Async(data, 7, 1, stream));
  HOLD_UP_FOR_A_WHILE(stream);
  MUST(cuMemcpyDtoHAsync(&target, data, 1, stream));
  FOUND("it has arrived", target == 7, 1);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  MUST_BE(target, 7);
  return 0;
}
