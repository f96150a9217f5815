// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event can stand for all work of a context, and all its later work can wait for one;
// neither goes with a capture.
// Source: cuda.h, cuCtxRecordEvent and cuCtxWaitEvent
#include "driver_test.h"

int main(void) {
  CUcontext context = start();
  USE_MEMORY;
  USE_CAPTURE;
  USE(cuCtxRecordEvent, 12050, CUcontext, CUevent);
  USE(cuCtxWaitEvent, 12050, CUcontext, CUevent);
  enum { SIZE = 1 << 16, STREAMS = 3 };
  static unsigned char bytes[SIZE];
  CUdeviceptr data[STREAMS], copy;
  CUstream streams[STREAMS], after;
  CUevent event, other;
  CUgraph graph = NULL;
  MUST(cuMemAlloc(&copy, SIZE));
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventCreate(&other, 2));
  for (int i = 0; i < STREAMS; ++i) {
    MUST(cuMemAlloc(&data[i], SIZE));
    MUST(cuStreamCreate(&streams[i], NON_BLOCKING));
    MUST(cuMemsetD8Async(data[i], (unsigned char)(i + 1), SIZE, streams[i]));
  }
  MUST(cuCtxRecordEvent(context, event));
  MUST(cuStreamCreate(&after, NON_BLOCKING));
  MUST(cuCtxWaitEvent(context, event));
  MUST(cuMemcpyDtoDAsync(copy, data[1], SIZE, after));
  MUST(cuStreamSynchronize(after));
  MUST(cuMemcpyDtoH(bytes, copy, SIZE));
  MUST_BE(bytes[0], 2);
  MUST_BE(bytes[SIZE - 1], 2);
  MUST(cuEventQuery(event));
  MUST(cuEventSynchronize(event));

  MUST(cuStreamBeginCapture(after, RELAXED));
  MUST_BE(cuCtxRecordEvent(context, event), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(after, &graph), CAPTURE_INVALIDATED);
  MUST(cuStreamBeginCapture(after, RELAXED));
  MUST_BE(cuCtxWaitEvent(context, event), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(after, &graph), CAPTURE_INVALIDATED);
  MUST(cuCtxRecordEvent(context, other));
  MUST(cuEventSynchronize(other));
  return 0;
}
