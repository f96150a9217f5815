// SPDX-License-Identifier: BSD-3-Clause
// Events of whole contexts order all work there, that of destroyed streams too, whatever is done by
// then; the end of a context comes after the work of its green contexts.
#include "race_test.h"

struct resource {
  unsigned char own[144];
};

int main(void) {
  const CUcontext context = start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxRecordEvent, 12050, CUcontext, CUevent);
  USE(cuCtxWaitEvent, 12050, CUcontext, CUevent);
  USE(cuDeviceGetDevResource, 12040, CUdevice, struct resource *, int);
  USE(cuDevResourceGenerateDesc, 12040, void **, struct resource *, unsigned);
  USE(cuGreenCtxCreate, 12040, CUgreenCtx *, void *, CUdevice, unsigned);
  USE(cuGreenCtxStreamCreate, 12050, CUstream *, CUgreenCtx, unsigned, int);
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  CUdeviceptr data;
  CUevent event;
  CUstream one, two, passing, green_stream;
  CUgreenCtx green = NULL;
  struct resource all;
  void *descriptor = NULL;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuDeviceGetDevResource(0, &all, 1));
  MUST(cuDevResourceGenerateDesc(&descriptor, &all, 1));
  MUST(cuGreenCtxCreate(&green, descriptor, 0, 1));
  MUST(cuGreenCtxStreamCreate(&green_stream, green, NON_BLOCKING, 0));

  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuCtxRecordEvent(context, event));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemsetD8Async(data, 2, 64, two)););
  RACES(1, MUST(cuCtxRecordEvent(context, event)); MUST(cuMemsetD8Async(data, 1, 64, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, MUST(cuStreamCreate(&passing, NON_BLOCKING));
        MUST(cuMemsetD8Async(data, 1, 64, passing)); MUST(cuStreamDestroy(passing));
        MUST(cuCtxRecordEvent(context, event)); MUST(cuStreamWaitEvent(two, event, 0));
        MUST(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, green_stream)); MUST(cuCtxRecordEvent(context, event));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemsetD8Async(data, 2, 64, two)););

  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuCtxWaitEvent(context, event)); MUST(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuEventRecord(event, one));
        MUST(cuCtxWaitEvent(context, event)); MUST(cuMemsetD8Async(data, 2, 64, green_stream)););
  RACES(1, MUST(cuMemsetD8Async(data, 1, 64, one)); MUST(cuMemsetD8Async(data, 2, 64, two));
        MUST(cuEventRecord(event, one)); MUST(cuCtxWaitEvent(context, event)););

  RACES(0, MUST(cuMemsetD8Async(data, 1, 64, green_stream)); MUST(cuDevicePrimaryCtxReset(0)););
  return 0;
}
