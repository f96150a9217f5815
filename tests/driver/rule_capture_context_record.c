// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuCtxRecordEvent with a capturing stream in the context is refused and ends the capture.
// Source: cuda.h, cuCtxRecordEvent; to be checked on a GPU; simcuda does not have it
#include "driver_test.h"

int main(void) {
  const CUcontext context = start();
  USE_CAPTURE;
  USE(cuCtxRecordEvent, 12050, CUcontext, CUevent);
  CUgraph graph = NULL;
  CUstream stream;
  CUevent event;
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamBeginCapture(stream, RELAXED));
  FOUND_STATUS("cuCtxRecordEvent", cuCtxRecordEvent(context, event), NOT_SUPPORTED);
  FOUND_STATUS("end of the capture", cuStreamEndCapture(stream, &graph), SUCCESS);
  return 0;
}
