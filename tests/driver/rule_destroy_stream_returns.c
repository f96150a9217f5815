// SPDX-License-Identifier: BSD-3-Clause
// Rule: To destroy a stream with work pending does not wait for the work.
// Source: cuda.h, cuStreamDestroy
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
  OK(cuStreamDestroy(stream));
  EXPECT(cuEventQuery(event), NOT_READY);
  open_gate();
  OK(cuEventSynchronize(event));
  return 0;
}
