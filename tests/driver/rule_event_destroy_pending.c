// SPDX-License-Identifier: BSD-3-Clause
// Rule: To destroy an event whose record is pending returns at once, and the work goes on.
// Source: cuda.h, cuEventDestroy
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE_GATE;
  CUstream stream;
  CUevent event;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  HOLD_UP(stream);
  OK(cuEventRecord(event, stream));
  OK(cuEventDestroy(event));
  EXPECT(cuStreamQuery(stream), NOT_READY);
  open_gate();
  OK(cuStreamSynchronize(stream));
  return 0;
}
