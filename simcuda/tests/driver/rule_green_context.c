// SPDX-License-Identifier: BSD-3-Clause
// Rule: A green context has streams of its own, which tell of it; its memory is the primary
// context's; its streams end with it.
// Source: cuda.h, the green contexts' functions; what of the streams is to be checked on a GPU
#include "green.h"

int main(void) {
  CUcontext primary = start(), converted = NULL, told = NULL;
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuDeviceGetDevResource, 12040, CUdevice, struct resource *, int);
  USE(cuDevSmResourceSplitByCount, 12040, struct resource *, unsigned *, const struct resource *,
      struct resource *, unsigned, unsigned);
  USE(cuDevResourceGenerateDesc, 12040, void **, struct resource *, unsigned);
  USE(cuGreenCtxCreate, 12040, CUgreenCtx *, void *, CUdevice, unsigned);
  USE(cuGreenCtxDestroy, 12040, CUgreenCtx);
  USE(cuGreenCtxGetDevResource, 12040, CUgreenCtx, struct resource *, int);
  USE(cuCtxFromGreenCtx, 12040, CUcontext *, CUgreenCtx);
  USE(cuGreenCtxStreamCreate, 12050, CUstream *, CUgreenCtx, unsigned, int);
  USE(cuStreamGetGreenCtx, 12040, CUstream, CUgreenCtx *);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxSynchronize, 2000, void);
  CUresult (*get_context)(CUstream, CUcontext *);
  CUresult (*get_contexts)(CUstream, CUcontext *, CUgreenCtx *);
  *(void **)&get_context = find("cuStreamGetCtx", 9020);
  *(void **)&get_contexts = find("cuStreamGetCtx", 12050);
  enum { SM = 1, DEFAULT_STREAM = 1, INVALID_RESOURCE_TYPE = 914, SIZE = 4096 };
  enum { INVALID_CONFIGURATION = 915 };
  static unsigned char bytes[SIZE];
  struct resource all, part, remainder;
  unsigned groups = 1;
  void *descriptor = NULL;
  CUgreenCtx green = NULL, told_green = NULL;
  CUstream stream, regular;
  CUevent event;
  CUdeviceptr data;
  memset(&all, 0, sizeof all);
  memset(&part, 0, sizeof part);
  MUST_BE(cuDeviceGetDevResource(0, &all, 0), INVALID_RESOURCE_TYPE);
  MUST(cuDeviceGetDevResource(0, &all, SM));
  MUST_BE(all.type, SM);
  MUST_BE(all.count >= all.least && all.least > 0, 1);
  MUST(cuDevSmResourceSplitByCount(NULL, &groups, &all, NULL, 0, all.least));
  MUST_BE(groups >= 1, 1);
  MUST_BE(cuDevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, all.count + 1),
          INVALID_CONFIGURATION);
  groups = 1;
  MUST(cuDevSmResourceSplitByCount(&part, &groups, &all, &remainder, 0, all.least));
  MUST_BE(groups, 1);
  MUST_BE(part.count >= all.least, 1);
  MUST_BE(part.count % all.alignment, 0);
  MUST(cuDevResourceGenerateDesc(&descriptor, &part, 1));
  // Without a descriptor it has all resources of the device.
  MUST(cuGreenCtxCreate(&green, NULL, 0, DEFAULT_STREAM));
  MUST(cuGreenCtxGetDevResource(green, &remainder, SM));
  FOUND("without a descriptor: all of the device", remainder.count == all.count, 1);
  MUST(cuGreenCtxDestroy(green));
  MUST(cuGreenCtxCreate(&green, descriptor, 0, DEFAULT_STREAM));
  MUST(cuGreenCtxGetDevResource(green, &remainder, SM));
  MUST_BE(remainder.count, part.count);
  MUST(cuCtxFromGreenCtx(&converted, green));

  MUST_BE(cuGreenCtxStreamCreate(&stream, green, 0, 0), INVALID_VALUE);
  MUST(cuGreenCtxStreamCreate(&stream, green, NON_BLOCKING, 0));
  MUST(get_context(stream, &told));
  MUST_BE(told == converted, 1);
  MUST(get_contexts(stream, &told, &told_green));
  MUST_BE(told == primary && told_green == green, 1);
  MUST(cuStreamCreate(&regular, NON_BLOCKING));
  MUST(get_contexts(regular, &told, &told_green));
  MUST_BE(told == primary && told_green == NULL, 1);
  MUST(cuStreamGetGreenCtx(regular, &told_green));
  MUST_BE(told_green == NULL, 1);

  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemsetD8Async(data, 5, SIZE, stream));
  MUST(cuCtxSynchronize());  // of the primary context: its green contexts, too
  MUST(cuMemcpyDtoH(bytes, data, SIZE));
  MUST_BE(bytes[0], 5);
  MUST_BE(bytes[SIZE - 1], 5);

  // Current: the tokens mean its streams.
  MUST(cuCtxSetCurrent(converted));
  MUST(get_contexts(LEGACY, &told, &told_green));
  MUST_BE(told == primary && told_green == green, 1);
  MUST_BE(get_contexts(PER_THREAD, &told, &told_green), INVALID_HANDLE);
  MUST(cuCtxSetCurrent(primary));

  MUST(cuGreenCtxDestroy(green));
  MUST(cuEventCreate(&event, 2));
  FOUND_STATUS("waiting for its stream afterwards", cuStreamSynchronize(stream),
               CONTEXT_IS_DESTROYED);
  FOUND_STATUS("work in its stream afterwards", cuMemsetD8Async(data, 5, SIZE, stream),
               CONTEXT_IS_DESTROYED);
  FOUND_STATUS("destroying its stream afterwards", cuStreamDestroy(stream), CONTEXT_IS_DESTROYED);
  MUST(cuMemcpyDtoH(bytes, data, SIZE));  // the memory is still there
  MUST(cuMemFree(data));
  return 0;
}
