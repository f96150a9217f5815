// SPDX-License-Identifier: BSD-3-Clause
// cuStreamQuery on a capturing stream is refused with 900 and invalidates the capture.
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
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, INVALIDATED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  (void)graph, (void)status;
  return 0;
}
