// SPDX-License-Identifier: BSD-3-Clause
// Rule: Captured work does not run.
// Source: cuda.h, cuStreamBeginCapture
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  CUgraph graph = NULL;
  CUstream stream;
  CUdeviceptr data;
  unsigned char value = 1;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuMemcpyHtoD(data, &value, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemsetD8Async(data, 2, 1, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 1);
  return 0;
}
