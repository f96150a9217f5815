// SPDX-License-Identifier: BSD-3-Clause
// Rule: The flags for external events are refused outside a capture.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  CUstream stream;
  CUevent event;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  FOUND_STATUS("external record", cuEventRecordWithFlags(event, stream, 1), ILLEGAL_STATE);
  MUST(cuEventRecord(event, stream));
  FOUND_STATUS("external wait", cuStreamWaitEvent(stream, event, 1), ILLEGAL_STATE);
  return 0;
}
