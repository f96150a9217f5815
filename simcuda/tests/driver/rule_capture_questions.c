// SPDX-License-Identifier: BSD-3-Clause
// Rule: To ask a capturing stream for its id, its flags or its device ends the capture, whatever
// the mode of capture and thread.
// Source: assumed, after an H100; to be checked on a GPU
#include "driver_test.h"

enum { ID, FLAGS, DEVICE, QUERY, QUESTIONS };
static const char *const names[] = {"cuStreamGetId", "cuStreamGetFlags", "cuStreamGetDevice",
                                    "cuStreamQuery"};

static CUresult ask(int question, CUstream stream) {
  USE_STREAMS;
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  USE(cuStreamGetFlags, 5050, CUstream, unsigned *);
  USE(cuStreamGetDevice, 12080, CUstream, CUdevice *);
  unsigned long long id;
  unsigned flags;
  CUdevice device;
  switch (question) {
    case ID:
      return cuStreamGetId(stream, &id);
    case FLAGS:
      return cuStreamGetFlags(stream, &flags);
    case DEVICE:
      return cuStreamGetDevice(stream, &device);
  }
  return cuStreamQuery(stream);
}

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  CUgraph graph = NULL;
  CUstream stream;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (int question = 0; question < QUESTIONS; ++question)
    for (int mode = GLOBAL; mode <= RELAXED; ++mode) {
      char what[80];
      int of_thread = RELAXED;
      MUST(cuStreamBeginCapture(stream, mode));
      MUST(cuThreadExchangeStreamCaptureMode(&of_thread));
      snprintf(what, sizeof what, "%s, mode %d", names[question], mode);
      FOUND_STATUS(what, ask(question, stream), CAPTURE_UNSUPPORTED);
      MUST(cuThreadExchangeStreamCaptureMode(&of_thread));
      snprintf(what, sizeof what, "end of the capture after %s", names[question]);
      FOUND_STATUS(what, cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
    }
  return 0;
}
