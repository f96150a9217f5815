// SPDX-License-Identifier: BSD-3-Clause
// An event that was last recorded in a capture cannot be asked or waited for by the host: 907.
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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuEventRecord(event, stream));
  OK(cuStreamEndCapture(stream, &graph));
  EXPECT(cuEventQuery(event), CAPTURED_EVENT);
  EXPECT(cuEventSynchronize(event), CAPTURED_EVENT);
  (void)graph, (void)status;
  return 0;
}
