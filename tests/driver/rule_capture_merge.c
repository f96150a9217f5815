// SPDX-License-Identifier: BSD-3-Clause
// A wait that would join two captures is refused with 902.
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamBeginCapture, 10010, CUstream, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuStreamIsCapturing, 10000, CUstream, int *);
  (void)cuStreamIsCapturing, (void)cuStreamEndCapture;
  enum { NONE = 0, ACTIVE = 1, INVALIDATED = 2, GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  CUevent event;
  CUstream other;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamBeginCapture(other, RELAXED));
  OK(cuEventRecord(event, other));
  EXPECT(cuStreamWaitEvent(stream, event, 0), CAPTURE_MERGE);
  (void)graph, (void)status;
  return 0;
}
