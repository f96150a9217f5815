// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuCtxRecordEvent with a capturing stream in the context is refused and ends the capture.
// Source: cuda.h, cuCtxRecordEvent; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  const CUcontext context = start();
  USE_CAPTURE;
  USE(cuCtxRecordEvent, 12050, CUcontext, CUevent);
  CUgraph graph = NULL;
  CUstream stream;
  CUevent event;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  FOUND_STATUS("cuCtxRecordEvent", cuCtxRecordEvent(context, event), CAPTURE_UNSUPPORTED);
  FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  return 0;
}
