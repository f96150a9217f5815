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
  OK(cuMemAlloc(&data, 64));
  OK(cuEventCreate(&event, 2));
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuDeviceGetDevResource(0, &all, 1));
  OK(cuDevResourceGenerateDesc(&descriptor, &all, 1));
  OK(cuGreenCtxCreate(&green, descriptor, 0, 1));
  OK(cuGreenCtxStreamCreate(&green_stream, green, NON_BLOCKING, 0));

  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuCtxRecordEvent(context, event));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemsetD8Async(data, 2, 64, two)););
  RACES(1, OK(cuCtxRecordEvent(context, event)); OK(cuMemsetD8Async(data, 1, 64, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, OK(cuStreamCreate(&passing, NON_BLOCKING)); OK(cuMemsetD8Async(data, 1, 64, passing));
        OK(cuStreamDestroy(passing)); OK(cuCtxRecordEvent(context, event));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, green_stream)); OK(cuCtxRecordEvent(context, event));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemsetD8Async(data, 2, 64, two)););

  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuCtxWaitEvent(context, event)); OK(cuMemsetD8Async(data, 2, 64, two)););
  RACES(0, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuEventRecord(event, one));
        OK(cuCtxWaitEvent(context, event)); OK(cuMemsetD8Async(data, 2, 64, green_stream)););
  RACES(1, OK(cuMemsetD8Async(data, 1, 64, one)); OK(cuMemsetD8Async(data, 2, 64, two));
        OK(cuEventRecord(event, one)); OK(cuCtxWaitEvent(context, event)););

  RACES(0, OK(cuMemsetD8Async(data, 1, 64, green_stream)); OK(cuDevicePrimaryCtxReset(0)););
  return 0;
}
