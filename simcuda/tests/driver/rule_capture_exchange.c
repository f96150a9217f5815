// SPDX-License-Identifier: BSD-3-Clause
// Rule: The exchange of a thread's capture mode gives the mode that was, GLOBAL at first.
// Source: cuda.h, cuThreadExchangeStreamCaptureMode
#include "driver_test.h"

int main(void) {
  start();
  USE_CAPTURE;
  USE(cuThreadExchangeStreamCaptureMode, 10010, int *);
  int mode = RELAXED;
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  MUST_BE(mode, GLOBAL);
  mode = THREAD_LOCAL;
  MUST(cuThreadExchangeStreamCaptureMode(&mode));
  MUST_BE(mode, RELAXED);
  return 0;
}
