// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capture can go into a graph of the client's, behind nodes of it.
// Source: cuda.h, cuStreamBeginCaptureToGraph; the rest to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuStreamBeginCaptureToGraph, 12030, CUstream, CUgraph, const CUgraphNode *, const void *,
      size_t, int);
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphGetRootNodes, 10000, CUgraph, CUgraphNode *, size_t *);
  CUdeviceptr data;
  CUstream stream;
  CUgraph graph, ended = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode root;
  size_t count = 0;
  unsigned char value = 0;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemsetD8Async(data, 0, 1, stream));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddEmptyNode(&root, graph, NULL, 0));
  MUST(cuStreamBeginCaptureToGraph(stream, graph, &root, NULL, 1, RELAXED));
  MUST(cuMemsetD8Async(data, 4, 1, stream));
  FOUND_STATUS("cuGraphInstantiate meanwhile", cuGraphInstantiateWithFlags(&exec, graph, 0),
               SUCCESS);
  FOUND_STATUS("cuGraphDestroy meanwhile", cuGraphDestroy(graph), ILLEGAL_STATE);
  MUST(cuStreamEndCapture(stream, &ended));
  MUST_BE(ended == graph, 1);
  MUST(cuGraphGetNodes(graph, NULL, &count));
  MUST_BE(count, 2);
  MUST(cuGraphGetRootNodes(graph, NULL, &count));
  MUST_BE(count, 1);
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 4);

  // One that is invalidated takes the graph along.
  MUST(cuStreamBeginCaptureToGraph(stream, graph, &root, NULL, 1, RELAXED));
  MUST_BE(cuStreamQuery(stream), CAPTURE_UNSUPPORTED);
  MUST_BE(cuStreamEndCapture(stream, &ended), CAPTURE_INVALIDATED);
  FOUND_STATUS("cuGraphGetNodes after one that is invalidated",
               cuGraphGetNodes(graph, NULL, &count), INVALID_VALUE);
  return 0;
}
