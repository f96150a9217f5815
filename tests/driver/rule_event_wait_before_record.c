// SPDX-License-Identifier: BSD-3-Clause
// Rule: A wait that was given before the event's first record waits for nothing.
// Source: cuda.h, cuStreamWaitEvent
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE_GATE;
  CUstream producer, consumer;
  CUevent event;
  OK(cuStreamCreate(&producer, NON_BLOCKING));
  OK(cuStreamCreate(&consumer, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamWaitEvent(consumer, event, 0));
  HOLD_UP(producer);
  OK(cuEventRecord(event, producer));
  OK(cuStreamSynchronize(consumer));
  EXPECT(cuEventQuery(event), NOT_READY);
  open_gate();
  OK(cuEventSynchronize(event));
  return 0;
}
