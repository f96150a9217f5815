// SPDX-License-Identifier: BSD-3-Clause
// Work on the legacy stream while a blocking stream captures is refused and ends the capture.
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
  USE_MEMORY;
  CUdeviceptr data;
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, 0));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuMemsetD8Async(data, 1, 1, LEGACY), CAPTURE_IMPLICIT);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  EXPECT(graph == NULL, 1);
  (void)graph, (void)status;
  return 0;
}
