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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuEventQuery(event));
  OK(cuEventSynchronize(event));
  OK(cuStreamWaitEvent(stream, event, 0));
  OK(cuStreamSynchronize(stream));
  return 0;
}
