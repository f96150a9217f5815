// SPDX-License-Identifier: BSD-3-Clause
// What a capture that is over, invalidated or of other streams lets a client do: what is refused,
// what it says of itself, and what stays as it was.
#include "driver_test.h"

typedef struct {
  unsigned char bytes[8];
} EdgeData;

enum { SIZE = 64, UPDATE_SET = 1 };

static void check_invalidated(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE(cuStreamUpdateCaptureDependencies, 11030, CUstream, CUgraphNode *, size_t, unsigned);
  USE(cuStreamGetCaptureInfo, 11030, CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **,
      size_t *);
  CUstream stream, other, blocking, plain;
  CUevent event, outside;
  CUdeviceptr data;
  CUgraph graph = NULL;
  uint64_t id = 7;
  size_t count = 7;
  int status = 7;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&event, 0));
  MUST(cuEventCreate(&outside, 0));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuEventRecord(event, stream));
  MUST_BE(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  MUST_BE(cuEventRecord(outside, stream), CAPTURE_INVALIDATED);
  MUST_BE(cuStreamWaitEvent(stream, outside, 0), CAPTURE_INVALIDATED);
  MUST_BE(cuStreamWaitEvent(other, event, 0), INVALID_VALUE);
  MUST_BE(cuStreamUpdateCaptureDependencies(stream, NULL, 0, UPDATE_SET), CAPTURE_INVALIDATED);
  MUST(cuStreamGetCaptureInfo(stream, &status, &id, &graph, NULL, &count));
  MUST_BE(status, INVALIDATED);
  MUST_BE(id == 7 && count == 7, 1);  // there is nothing to say
  // It forbids what it did before.
  MUST_BE(cuMemAlloc(&data, SIZE), CAPTURE_UNSUPPORTED);
  MUST(cuStreamIsCapturing(other, &status));
  MUST_BE(status, NONE);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemFree(data));

  // The legacy stream does not go on beside a blocking stream's capture that has been invalidated,
  MUST(cuStreamCreate(&plain, 0));
  MUST(cuStreamCreate(&blocking, 0));
  MUST(cuStreamBeginCapture(blocking, RELAXED));
  MUST_BE(cuStreamQuery(blocking), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamQuery(LEGACY), CAPTURE_IMPLICIT);
  MUST_BE(cuStreamEndCapture(blocking, &graph), CAPTURE_INVALIDATED);
  MUST(cuStreamQuery(LEGACY));
  // and ends one that is active, of all blocking streams that capture.
  MUST(cuStreamBeginCapture(blocking, RELAXED));
  MUST_BE(cuStreamQuery(LEGACY), CAPTURE_IMPLICIT);
  MUST(cuStreamIsCapturing(plain, &status));
  MUST_BE(status, NONE);
  MUST_BE(cuStreamEndCapture(blocking, &graph), CAPTURE_INVALIDATED);
  MUST(cuStreamDestroy(blocking));
  MUST(cuStreamDestroy(plain));
  MUST(cuEventDestroy(outside));
  MUST(cuEventDestroy(event));
  MUST(cuStreamDestroy(other));
  MUST(cuStreamDestroy(stream));
}

// A stream that has joined a capture goes, and its work is in it: the capture cannot be ended well,
// but it can be ended.
static void check_joined_goes(void) {
  USE_MEMORY;
  USE_CAPTURE;
  CUstream stream, joined;
  CUevent event;
  CUdeviceptr data;
  CUgraph graph = NULL;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&joined, NON_BLOCKING));
  MUST(cuEventCreate(&event, 0));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuEventRecord(event, stream));
  MUST(cuStreamWaitEvent(joined, event, 0));
  MUST(cuMemsetD8Async(data, 1, 1, joined));
  MUST(cuStreamDestroy(joined));
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_UNJOINED);
  MUST(cuMemFree(data));
  MUST(cuEventDestroy(event));
  MUST(cuStreamDestroy(stream));
}

// Who waits twice for one event depends on it once.
static void check_waited_twice(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE(cuStreamGetCaptureInfo, 11030, CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **,
      size_t *);
  CUstream stream, joined;
  CUevent event;
  CUdeviceptr data;
  CUgraph graph = NULL;
  size_t count = 0;
  int status = 7;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&joined, NON_BLOCKING));
  MUST(cuEventCreate(&event, 0));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemsetD8Async(data, 1, SIZE, stream));
  MUST(cuEventRecord(event, stream));
  for (int i = 0; i < 2; ++i) MUST(cuStreamWaitEvent(joined, event, 0));
  MUST(cuStreamGetCaptureInfo(joined, &status, NULL, NULL, NULL, &count));
  MUST_BE(status == ACTIVE && count == 1, 1);
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuEventDestroy(event));
  MUST(cuStreamDestroy(joined));
  MUST(cuStreamDestroy(stream));
  MUST(cuMemFree(data));
}

// An invalidated capture destroys the client's graph that it captures into.
static void check_into_graph(void) {
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuStreamBeginCaptureToGraph, 12030, CUstream, CUgraph, const CUgraphNode *, const EdgeData *,
      size_t, int);
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  CUresult (*get_info)(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **,
                       const EdgeData **, size_t *);
  *(void **)&get_info = find("cuStreamGetCaptureInfo", 12030);
  const EdgeData programmatic = {{1}}, *edges = NULL;
  const CUgraphNode *nodes = NULL;
  CUgraph graph, ended = NULL;
  CUgraphNode node;
  CUstream stream;
  CUdeviceptr data;
  size_t count = 0;
  int status = 7;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddEmptyNode(&node, graph, NULL, 0));
  const CUgraphNode twice[] = {node, node};
  MUST_BE(cuStreamBeginCaptureToGraph(stream, graph, twice, NULL, 2, RELAXED), INVALID_VALUE);
  MUST_BE(cuStreamBeginCaptureToGraph(stream, graph, &node, &programmatic, 1, RELAXED),
          NOT_SUPPORTED);
  MUST(cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, RELAXED));
  MUST_BE(get_info(stream, &status, NULL, NULL, NULL, &edges, &count), INVALID_VALUE);
  MUST(get_info(stream, &status, NULL, NULL, &nodes, &edges, &count));
  MUST_BE(count == 1 && nodes[0] == node && edges[0].bytes[0] == 0, 1);
  MUST(cuMemsetD8Async(data, 1, SIZE, stream));
  MUST_BE(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(stream, &ended), CAPTURE_INVALIDATED);
  MUST_BE(cuGraphGetNodes(graph, NULL, &count), INVALID_VALUE);
  MUST_BE(cuGraphDestroy(graph), INVALID_VALUE);
  MUST(cuStreamDestroy(stream));
  MUST(cuMemFree(data));
}

// The legacy stream of another context waits for no stream that is captured, and may be used.
static void check_other_context(CUcontext context) {
  USE_MEMORY;
  USE_CAPTURE;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxSetCurrent, 4000, CUcontext);
  USE(cuCtxDestroy, 4000, CUcontext);
  CUcontext other;
  CUstream stream;
  CUdeviceptr here, there;
  CUgraph graph = NULL;
  MUST(cuMemAlloc(&here, SIZE));
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuCtxCreate(&other, 0, 0));
  MUST(cuMemAlloc(&there, SIZE));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemsetD8Async(there, 1, SIZE, LEGACY));
  MUST(cuCtxSetCurrent(context));
  MUST_BE(cuMemsetD8Async(here, 1, SIZE, LEGACY), CAPTURE_IMPLICIT);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  MUST(cuStreamDestroy(stream));
  MUST(cuMemFree(here));
  MUST(cuCtxDestroy(other));
  MUST(cuCtxSetCurrent(context));
}

int main(void) {
  check_other_context(start());
  check_invalidated();
  check_joined_goes();
  check_waited_twice();
  check_into_graph();
  return 0;
}
