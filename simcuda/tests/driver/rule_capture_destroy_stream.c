// SPDX-License-Identifier: BSD-3-Clause
// Rule: To destroy a stream that captures ends the capture, and the others of the capture are
// free.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  CUstream stream, other;
  CUevent event;
  int status = NONE;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuEventRecord(event, stream));
  MUST(cuStreamWaitEvent(other, event, 0));
  FOUND_STATUS("cuStreamDestroy", cuStreamDestroy(stream), SUCCESS);
  FOUND_STATUS("probe of the other stream", cuStreamIsCapturing(other, &status), SUCCESS);
  FOUND("the other stream captures no more", status == NONE, 1);
  return 0;
}
