// SPDX-License-Identifier: BSD-3-Clause
// Captured work does not run.
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamBeginCapture, 10010, CUstream, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuStreamIsCapturing, 10000, CUstream, int *);
  (void)cuStreamIsCapturing, (void)cuStreamEndCapture;
  enum { NONE = 0, ACTIVE = 1, INVALIDATED = 2, GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };
  CUgraph graph = NULL;
  CUstream stream;
  int status = NONE;
  USE_MEMORY;
  USE(cuStreamGetCaptureInfo, 10010, CUstream, int *, uint64_t *);
  CUdeviceptr data;
  unsigned char value = 1;
  uint64_t id = 0, next = 0;
  OK(cuMemAlloc(&data, 1));
  OK(cuMemcpyHtoD(data, &value, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamGetCaptureInfo(stream, &status, &id));
  EXPECT(status, ACTIVE);
  OK(cuMemsetD8Async(data, 2, 1, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 1);
  OK(cuStreamBeginCapture(stream, RELAXED));
  OK(cuStreamGetCaptureInfo(stream, &status, &next));
  EXPECT(next != id, 1);
  OK(cuStreamEndCapture(stream, &graph));
  (void)graph, (void)status;
  return 0;
}
