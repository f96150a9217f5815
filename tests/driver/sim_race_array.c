// SPDX-License-Identifier: BSD-3-Clause
// Copies to and from CUDA arrays race as others do, by the rows that they touch; an array's memory
// counts, and goes with the array or its context, whose handle is then no more.
#include "arrays.h"
#include "race_test.h"

enum { WIDTH = 64, ROWS = 8, BYTES = WIDTH * ROWS };

int main(void) {
  start_races();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_ARRAYS;
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  USE(cuDevicePrimaryCtxReset, 11000, CUdevice);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  const ArrayDescriptor descriptor = {WIDTH, ROWS, UINT8, 1};
  ArrayDescriptor said;
  size_t before = 0, now = 0, total = 0;
  CUarray array;
  CUdeviceptr data;
  CUstream one, two;
  CUevent event;
  CUcontext context;
  OK(cuStreamCreate(&one, NON_BLOCKING));
  OK(cuStreamCreate(&two, NON_BLOCKING));
  OK(cuEventCreate(&event, 2));
  OK(cuMemAlloc(&data, BYTES));
  OK(cuMemGetInfo(&before, &total));
  OK(cuArrayCreate(&array, &descriptor));
  OK(cuMemGetInfo(&now, &total));
  EXPECT(now, before - BYTES);
  Copy2D upper = {.width = WIDTH, .height = ROWS / 2}, whole = {.width = WIDTH, .height = ROWS};
  upper.from = whole.to = (Side2D){.type = DEVICE, .device = data, .pitch = WIDTH};
  upper.to = whole.from = (Side2D){.type = ARRAY, .array = array};
  Copy2D lower = upper;
  lower.to.y = ROWS / 2;

  RACES(0, OK(cuMemcpy2DAsync(&upper, one)); OK(cuMemcpy2DAsync(&lower, two)););
  RACES(1, OK(cuMemcpy2DAsync(&upper, one)); OK(cuMemcpy2DAsync(&upper, two)););
  RACES(0, OK(cuMemcpy2DAsync(&upper, one)); OK(cuEventRecord(event, one));
        OK(cuStreamWaitEvent(two, event, 0)); OK(cuMemcpy2DAsync(&upper, two)););
  RACES(2, OK(cuMemcpy2DAsync(&upper, one)); OK(cuMemcpy2DAsync(&whole, two)););
  RACES(0, OK(cuMemcpy2DAsync(&upper, one)); OK(cuMemcpy2DAsync(&lower, one));
        OK(cuArrayDestroy(array)););  // waits
  OK(cuMemGetInfo(&now, &total));
  EXPECT(now, before);
  EXPECT(cuArrayDestroy(array), INVALID_HANDLE);
  EXPECT(cuMemcpy2D(&upper), INVALID_HANDLE);
  EXPECT(cuArrayGetDescriptor(&said, array), INVALID_HANDLE);
  OK(cuArrayCreate(&array, &descriptor));
  OK(cuMemFree(data));
  OK(cuDevicePrimaryCtxReset(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT(cuArrayDestroy(array), INVALID_HANDLE);
  OK(cuMemGetInfo(&now, &total));
  EXPECT(now, total);
  return 0;
}
