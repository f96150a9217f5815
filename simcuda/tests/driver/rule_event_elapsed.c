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
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&from, 0));
  MUST(cuEventCreate(&to, 0));
  MUST(cuEventCreate(&untimed, 2));
  MUST_BE(cuEventElapsedTime(&milliseconds, from, to), INVALID_HANDLE);  // never recorded
  MUST(cuEventRecord(from, stream));
  HOLD_UP(stream);
  MUST(cuEventRecord(to, stream));
  MUST(cuEventRecord(untimed, stream));
  MUST_BE(cuEventElapsedTime(&milliseconds, from, to), NOT_READY);
  MUST(cuEventSynchronize(from));  // and the other one is not
  MUST_BE(cuEventElapsedTime(&milliseconds, from, to), NOT_READY);
  open_gate();
  MUST(cuStreamSynchronize(stream));
  MUST(cuEventElapsedTime(&milliseconds, from, to));
  MUST_BE(milliseconds >= 0, 1);
  MUST_BE(cuEventElapsedTime(&milliseconds, from, untimed), INVALID_HANDLE);
  return 0;
}
