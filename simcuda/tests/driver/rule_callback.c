// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream callback gets the stream and its status, and runs before what comes after it.
// Source: cuda.h, cuStreamAddCallback
#include "driver_test.h"

static CUstream got_stream;
static CUresult got_status = -1;

static void note(CUstream stream, CUresult status, void *data) {
  got_stream = stream;
  got_status = status;
  *(int *)data += 1;
}

int main(void) {
  start();
  USE_STREAMS;
  USE(cuStreamAddCallback, 5000, CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
  CUstream stream;
  int calls = 0;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamAddCallback(stream, note, &calls, 0));
  MUST(cuStreamAddCallback(stream, note, &calls, 0));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(calls, 2);
  MUST_BE(got_status, SUCCESS);
  MUST_BE(got_stream == stream, 1);
  return 0;
}
