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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamQuery(stream));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  EXPECT(cuStreamQuery(stream), NOT_READY);
  OK(cuStreamQuery(stream));
  OK(cuEventRecord(event, stream));
  EXPECT(cuEventQuery(event), NOT_READY);
  OK(cuEventQuery(event));
  return 0;
}
