// SPDX-License-Identifier: BSD-3-Clause
// Rule: The time between two events is known once both are complete, and never without timing.
// Source: cuda.h, cuEventElapsedTime
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE_GATE;
  USE(cuEventElapsedTime, 2000, float *, CUevent, CUevent);
  CUstream stream;
  CUevent from, to, untimed;
  float milliseconds = -1;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&from, 0));
  OK(cuEventCreate(&to, 0));
  OK(cuEventCreate(&untimed, 2));
  EXPECT(cuEventElapsedTime(&milliseconds, from, to), INVALID_HANDLE);  // never recorded
  OK(cuEventRecord(from, stream));
  HOLD_UP(stream);
  OK(cuEventRecord(to, stream));
  OK(cuEventRecord(untimed, stream));
  EXPECT(cuEventElapsedTime(&milliseconds, from, to), NOT_READY);
  open_gate();
  OK(cuStreamSynchronize(stream));
  OK(cuEventElapsedTime(&milliseconds, from, to));
  EXPECT(milliseconds >= 0, 1);
  EXPECT(cuEventElapsedTime(&milliseconds, from, untimed), INVALID_HANDLE);
  return 0;
}
