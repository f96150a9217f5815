// SPDX-License-Identifier: BSD-3-Clause
// What the functions of green contexts refuse: resources that nobody has given out, that are of
// different origin, or in parts already; devices, flags and events of others.
#include "green.h"

int main(void) {
  start();
  USE_EVENTS;
  USE_STREAMS;
  USE(cuDeviceGetDevResource, 12040, CUdevice, struct resource *, int);
  USE(cuDevSmResourceSplitByCount, 12040, struct resource *, unsigned *, const struct resource *,
      struct resource *, unsigned, unsigned);
  USE(cuDevResourceGenerateDesc, 12040, void **, struct resource *, unsigned);
  USE(cuGreenCtxCreate, 12040, CUgreenCtx *, void *, CUdevice, unsigned);
  USE(cuGreenCtxDestroy, 12040, CUgreenCtx);
  USE(cuGreenCtxRecordEvent, 12040, CUgreenCtx, CUevent);
  USE(cuGreenCtxWaitEvent, 12040, CUgreenCtx, CUevent);
  USE(cuCtxGetDevResource, 12040, CUcontext, struct resource *, int);
  USE(cuCtxFromGreenCtx, 12040, CUcontext *, CUgreenCtx);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxPopCurrent, 4000, CUcontext *);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuGraphDestroy, 10000, CUgraph);
  CUresult (*begin)(CUstream, int);
  *(void **)&begin = find("cuStreamBeginCapture", 10010);
  enum { SM = 1, DEFAULT_STREAM = 1, ALONE = 1, RELAXED = 2, UNKNOWN = 128 };
  enum { INVALID_DEVICE = 101, INVALID_CONTEXT = 201, TYPE = 914, CONFIGURATION = 915 };
  enum { UNSUPPORTED = 900, INVALIDATED = 901, CAPTURED_EVENT = 907 };
  struct resource all, of_other, parts[2], of_another_split, remainder, wrong, pair[2];
  unsigned groups = 2;
  void *descriptor = NULL;
  CUgreenCtx green;
  CUcontext converted, mine, popped;
  CUevent event, foreign;
  CUstream stream;
  CUgraph graph = NULL;
  memset(&all, 0, sizeof all);
  memset(parts, 0, sizeof parts);
  MUST(cuDeviceGetDevResource(0, &all, SM));
  MUST(cuDeviceGetDevResource(1, &of_other, SM));

  // Not returned by the driver, or not to be split.
  wrong = all;
  wrong.type = 0;
  MUST_BE(cuDevSmResourceSplitByCount(parts, &groups, &wrong, NULL, 0, 1), TYPE);
  memset(&wrong, 0, sizeof wrong);
  wrong.type = SM;
  MUST_BE(cuDevSmResourceSplitByCount(parts, &groups, &wrong, NULL, 0, 1), CONFIGURATION);
  MUST(cuDevSmResourceSplitByCount(parts, &groups, &all, NULL, UNKNOWN, 1));
  MUST_BE(cuDevSmResourceSplitByCount(parts, NULL, &all, NULL, 0, 1), INVALID_VALUE);
  MUST(cuDevSmResourceSplitByCount(parts, &groups, &all, &remainder, ALONE, 1));
  MUST_BE(groups, 2);
  MUST_BE(remainder.count > 0, 1);
  groups = 1;
  MUST_BE(cuDevSmResourceSplitByCount(&wrong, &groups, parts, NULL, 0, 1), CONFIGURATION);
  MUST(cuDevSmResourceSplitByCount(&of_another_split, &groups, &all, &remainder, ALONE, all.count));
  MUST_BE(remainder.count, 0);

  // Together they are of one device, and of one split.
  MUST_BE(cuDevResourceGenerateDesc(&descriptor, parts, 0), INVALID_VALUE);
  pair[0] = parts[0];
  pair[1] = of_another_split;
  MUST_BE(cuDevResourceGenerateDesc(&descriptor, pair, 2), CONFIGURATION);
  pair[1] = of_other;
  MUST_BE(cuDevResourceGenerateDesc(&descriptor, pair, 2), CONFIGURATION);
  pair[0] = pair[1] = all;
  MUST_BE(cuDevResourceGenerateDesc(&descriptor, pair, 2), CONFIGURATION);
  MUST(cuDevResourceGenerateDesc(&descriptor, parts, 2));

  MUST_BE(cuGreenCtxCreate(&green, descriptor, 0, DEFAULT_STREAM | UNKNOWN), INVALID_VALUE);
  MUST_BE(cuGreenCtxCreate(&green, descriptor, 1, DEFAULT_STREAM), INVALID_DEVICE);
  MUST(cuGreenCtxCreate(&green, descriptor, 0, DEFAULT_STREAM));
  MUST(cuCtxFromGreenCtx(&converted, green));
  MUST_BE(cuCtxDestroy(converted), INVALID_CONTEXT);
  MUST(cuCtxGetDevResource(converted, &wrong, SM));
  MUST_BE(wrong.count, parts[0].count + parts[1].count);
  MUST(cuCtxGetDevResource(NULL, &wrong, SM));  // the primary context has them all
  MUST_BE(wrong.count, all.count);

  // Events of another context, that were never recorded, and of captures.
  MUST(cuCtxCreate(&mine, 0, 0));
  MUST(cuEventCreate(&foreign, 0));
  MUST(cuCtxPopCurrent(&popped));
  MUST_BE(cuGreenCtxRecordEvent(green, foreign), INVALID_HANDLE);
  MUST(cuEventCreate(&event, 0));
  MUST(cuGreenCtxWaitEvent(green, event));
  MUST(cuGreenCtxRecordEvent(green, event));
  MUST(cuGreenCtxWaitEvent(green, event));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(begin(stream, RELAXED));
  MUST(cuEventRecord(event, stream));
  MUST_BE(cuGreenCtxWaitEvent(green, event), UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(stream, &graph), INVALIDATED);
  MUST(begin(stream, RELAXED));
  MUST(cuEventRecord(event, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST_BE(cuGreenCtxWaitEvent(green, event), CAPTURED_EVENT);
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
  MUST(cuEventDestroy(event));
  MUST(cuGreenCtxDestroy(green));
  MUST(cuCtxDestroy(mine));
  return 0;
}
