// SPDX-License-Identifier: BSD-3-Clause
// Rule: A wait that would join two captures is refused with 902.
// Source: cuda.h, CUDA_ERROR_STREAM_CAPTURE_MERGE
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUstream stream;
  CUevent event;
  CUstream other;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamBeginCapture(other, RELAXED));
  OK(cuEventRecord(event, other));
  EXPECT(cuStreamWaitEvent(stream, event, 0), CAPTURE_MERGE);
  return 0;
}
