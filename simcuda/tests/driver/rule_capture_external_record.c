// SPDX-License-Identifier: BSD-3-Clause
// Rule: With the external flag a record is a node of the graph, and the event is no captured one.
// Source: cuda.h, cuEventRecordWithFlags; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  CUgraph graph = NULL;
  CUstream stream;
  CUevent event;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  FOUND_STATUS("external record", cuEventRecordWithFlags(event, stream, 1), SUCCESS);
  FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), SUCCESS);
  FOUND_STATUS("cuEventQuery afterwards", cuEventQuery(event), SUCCESS);
  return 0;
}
