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
  OK(cuMemAlloc(&data, 1));
  OK(cuMemcpyHtoD(data, &value, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuMemsetD8Async(data, 2, 1, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 1);
  return 0;
}
