// SPDX-License-Identifier: BSD-3-Clause
// While a blocking stream captures, a probe of the legacy stream says 906 and harms nothing.
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
  OK(cuStreamCreate(&stream, 0));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuStreamIsCapturing(LEGACY, &status), CAPTURE_IMPLICIT);
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, ACTIVE);
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamIsCapturing(LEGACY, &status));
  EXPECT(status, NONE);
  (void)graph, (void)status;
  return 0;
}
