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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuStreamBeginCapture(other, RELAXED));
  MUST(cuEventRecord(event, other));
  MUST_BE(cuStreamWaitEvent(stream, event, 0), CAPTURE_MERGE);
  return 0;
}
