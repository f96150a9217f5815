// SPDX-License-Identifier: BSD-3-Clause
// cuCtxSynchronize with a capturing stream in the context is refused with 900 and invalidates.
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
  USE(cuCtxSynchronize, 2000, void);
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  EXPECT(cuCtxSynchronize(), CAPTURE_UNSUPPORTED);
  EXPECT(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  (void)graph, (void)status;
  return 0;
}
