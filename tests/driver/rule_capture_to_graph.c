// SPDX-License-Identifier: BSD-3-Clause
// Rule: A capture can add to a graph that there is.
// Source: cuda.h, cuStreamBeginCaptureToGraph
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
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemsetD8Async(data, 0, 1, stream));
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddEmptyNode(&root, graph, NULL, 0));
  OK(cuStreamBeginCaptureToGraph(stream, graph, &root, NULL, 1, GLOBAL));
  OK(cuMemsetD8Async(data, 4, 1, stream));
  EXPECT(cuGraphInstantiateWithFlags(&exec, graph, 0) != SUCCESS, 1);
  OK(cuStreamEndCapture(stream, &ended));
  EXPECT(ended == graph, 1);
  OK(cuGraphGetNodes(graph, NULL, &count));
  EXPECT(count, 2);
  OK(cuGraphGetRootNodes(graph, NULL, &count));
  EXPECT(count, 1);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 4);
  return 0;
}
