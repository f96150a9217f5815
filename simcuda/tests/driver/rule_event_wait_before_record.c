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
  MUST(cuStreamCreate(&producer, NON_BLOCKING));
  MUST(cuStreamCreate(&consumer, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamWaitEvent(consumer, event, 0));
  HOLD_UP(producer);
  MUST(cuEventRecord(event, producer));
  MUST(cuStreamSynchronize(consumer));
  MUST_BE(cuEventQuery(event), NOT_READY);
  open_gate();
  MUST(cuEventSynchronize(event));
  return 0;
}
