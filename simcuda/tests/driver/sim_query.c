// SPDX-License-Identifier: BSD-3-Clause
// The first query of pending work says NOT_READY and does nothing; the next one gets it done.
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  CUstream stream;
  CUevent event;
  CUdeviceptr data;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamQuery(stream));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST(cuStreamQuery(stream));
  MUST(cuEventRecord(event, stream));
  MUST_BE(cuEventQuery(event), NOT_READY);
  MUST(cuEventQuery(event));
  return 0;
}
