// SPDX-License-Identifier: BSD-3-Clause
// With a context goes what is its own: arrays, streams of threads, and the green contexts in a
// primary one. What belongs to another context stays. It may be destroyed by a thread that has no
// context.
#include "arrays.h"
#include "green.h"

static void *destroy(void *context) {
  USE(cuCtxDestroy, 4000, CUcontext);
  MUST(cuCtxDestroy(context));
  return NULL;
}

static CUgreenCtx make_green(CUdevice device) {
  USE(cuDeviceGetDevResource, 12040, CUdevice, struct resource *, int);
  USE(cuDevResourceGenerateDesc, 12040, void **, struct resource *, unsigned);
  USE(cuGreenCtxCreate, 12040, CUgreenCtx *, void *, CUdevice, unsigned);
  enum { SM = 1, DEFAULT_STREAM = 1 };
  struct resource all;
  void *descriptor;
  CUgreenCtx green;
  MUST(cuDeviceGetDevResource(device, &all, SM));
  MUST(cuDevResourceGenerateDesc(&descriptor, &all, 1));
  MUST(cuGreenCtxCreate(&green, descriptor, device, DEFAULT_STREAM));
  return green;
}

int main(void) {
  const CUcontext first = start();
  USE_ARRAYS;
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuDevicePrimaryCtxReset, 7000, CUdevice);
  USE(cuCtxFromGreenCtx, 12040, CUcontext *, CUgreenCtx);
  const ArrayDescriptor shape = {4, 4, UINT8, 1};
  ArrayDescriptor known;
  CUarray stays, goes;
  CUcontext second, context = NULL;
  MUST(cuArrayCreate(&stays, &shape));
  MUST(cuCtxCreate(&second, 0, 0));
  MUST(cuArrayCreate(&goes, &shape));
  CUdeviceptr data;
  MUST(cuMemAlloc(&data, 64));
  MUST(cuMemsetD8Async(data, 1, 64, PER_THREAD));
  in_another_thread(destroy, second);
  MUST_BE(cuArrayGetDescriptor(&known, goes), CONTEXT_IS_DESTROYED);
  MUST_BE(cuStreamSynchronize(PER_THREAD), CONTEXT_IS_DESTROYED);
  MUST(cuArrayGetDescriptor(&known, stays));
  MUST_BE(known.width, 4);

  const CUgreenCtx here = make_green(0), there = make_green(1);
  MUST(cuCtxSetCurrent(first));
  MUST(cuDevicePrimaryCtxReset(1));
  MUST_BE(cuCtxFromGreenCtx(&context, there), INVALID_CONTEXT);
  MUST(cuCtxFromGreenCtx(&context, here));
  MUST(cuArrayDestroy(stays));
  return 0;
}
