// SPDX-License-Identifier: BSD-3-Clause
// Rule: To ask for the capture, the context or the priority of a capturing stream does its capture
// no harm.
// Source: cuda.h, cuStreamIsCapturing and cuStreamGetCaptureInfo
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuStreamGetCaptureInfo, 10010, CUstream, int *, uint64_t *);
  USE(cuStreamGetPriority, 5050, CUstream, int *);
  USE(cuStreamGetCtx, 9020, CUstream, CUcontext *);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUgraph graph = NULL;
  CUstream stream;
  CUcontext context;
  int status = NONE, priority = 0;
  uint64_t id = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuStreamIsCapturing(stream, &status));
  MUST(cuStreamGetCaptureInfo(stream, &status, &id));
  MUST(cuStreamGetPriority(stream, &priority));
  MUST(cuStreamGetCtx(stream, &context));
  MUST(cuCtxGetCurrent(&context));
  MUST(cuStreamIsCapturing(stream, &status));
  MUST_BE(status, ACTIVE);
  MUST(cuStreamEndCapture(stream, &graph));
  return 0;
}
