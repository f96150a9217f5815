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
  OK(cuMemAlloc(&copy, SIZE));
  OK(cuEventCreate(&event, 2));
  OK(cuEventCreate(&other, 2));
  for (int i = 0; i < STREAMS; ++i) {
    OK(cuMemAlloc(&data[i], SIZE));
    OK(cuStreamCreate(&streams[i], NON_BLOCKING));
    OK(cuMemsetD8Async(data[i], (unsigned char)(i + 1), SIZE, streams[i]));
  }
  OK(cuCtxRecordEvent(context, event));
  OK(cuStreamCreate(&after, NON_BLOCKING));
  OK(cuCtxWaitEvent(context, event));
  OK(cuMemcpyDtoDAsync(copy, data[1], SIZE, after));
  OK(cuStreamSynchronize(after));
  OK(cuMemcpyDtoH(bytes, copy, SIZE));
  EXPECT(bytes[0], 2);
  EXPECT(bytes[SIZE - 1], 2);
  OK(cuEventQuery(event));
  OK(cuEventSynchronize(event));

  OK(cuStreamBeginCapture(after, RELAXED));
  EXPECT(cuCtxRecordEvent(context, event), CAPTURE_UNSUPPORTED);
  EXPECT(cuStreamEndCapture(after, &graph), CAPTURE_INVALIDATED);
  OK(cuStreamBeginCapture(after, RELAXED));
  EXPECT(cuCtxWaitEvent(context, event), CAPTURE_UNSUPPORTED);
  EXPECT(cuStreamEndCapture(after, &graph), CAPTURE_INVALIDATED);
  OK(cuCtxRecordEvent(context, other));
  OK(cuEventSynchronize(other));
  return 0;
}
