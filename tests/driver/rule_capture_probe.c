// SPDX-License-Identifier: BSD-3-Clause
// Rule: To ask what a capturing stream is does its capture no harm.
// Source: cuda.h, cuStreamIsCapturing and cuStreamGetCaptureInfo
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuStreamGetCaptureInfo, 10010, CUstream, int *, uint64_t *);
  USE(cuStreamGetFlags, 5050, CUstream, unsigned *);
  USE(cuStreamGetCtx, 9020, CUstream, CUcontext *);
  USE(cuCtxGetCurrent, 4000, CUcontext *);
  CUgraph graph = NULL;
  CUstream stream;
  CUcontext context;
  int status = NONE;
  unsigned flags = 0;
  uint64_t id = 0;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuStreamIsCapturing(stream, &status));
  OK(cuStreamGetCaptureInfo(stream, &status, &id));
  OK(cuStreamGetFlags(stream, &flags));
  OK(cuStreamGetCtx(stream, &context));
  OK(cuCtxGetCurrent(&context));
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status, ACTIVE);
  OK(cuStreamEndCapture(stream, &graph));
  return 0;
}
