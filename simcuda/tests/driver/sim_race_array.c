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
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, BYTES));
  MUST(cuMemGetInfo(&before, &total));
  MUST(cuArrayCreate(&array, &descriptor));
  MUST(cuMemGetInfo(&now, &total));
  MUST_BE(now, before - BYTES);
  Copy2D upper = {.width = WIDTH, .height = ROWS / 2}, whole = {.width = WIDTH, .height = ROWS};
  upper.from = whole.to = (Side2D){.type = DEVICE, .device = data, .pitch = WIDTH};
  upper.to = whole.from = (Side2D){.type = ARRAY, .array = array};
  Copy2D lower = upper;
  lower.to.y = ROWS / 2;

  RACES(0, MUST(cuMemcpy2DAsync(&upper, one)); MUST(cuMemcpy2DAsync(&lower, two)););
  RACES(1, MUST(cuMemcpy2DAsync(&upper, one)); MUST(cuMemcpy2DAsync(&upper, two)););
  RACES(0, MUST(cuMemcpy2DAsync(&upper, one)); MUST(cuEventRecord(event, one));
        MUST(cuStreamWaitEvent(two, event, 0)); MUST(cuMemcpy2DAsync(&upper, two)););
  RACES(2, MUST(cuMemcpy2DAsync(&upper, one)); MUST(cuMemcpy2DAsync(&whole, two)););
  RACES(0, MUST(cuMemcpy2DAsync(&upper, one)); MUST(cuMemcpy2DAsync(&lower, one));
        MUST(cuArrayDestroy(array)););  // waits
  MUST(cuMemGetInfo(&now, &total));
  MUST_BE(now, before);
  MUST_BE(cuArrayDestroy(array), INVALID_HANDLE);
  MUST_BE(cuMemcpy2D(&upper), INVALID_HANDLE);
  MUST_BE(cuArrayGetDescriptor(&said, array), INVALID_HANDLE);
  MUST(cuArrayCreate(&array, &descriptor));
  MUST(cuMemFree(data));
  MUST(cuDevicePrimaryCtxReset(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST_BE(cuArrayDestroy(array), CONTEXT_IS_DESTROYED);
  MUST(cuMemGetInfo(&now, &total));
  MUST_BE(now, total);
  return 0;
}
