// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event that was never recorded is complete, and a wait for it waits for nothing.
// Source: cuda.h, cuEventQuery and cuStreamWaitEvent
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  CUstream stream;
  CUevent event;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventQuery(event));
  MUST(cuEventSynchronize(event));
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuStreamSynchronize(stream));
  return 0;
}
