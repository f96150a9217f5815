// SPDX-License-Identifier: BSD-3-Clause
// Rule: What the next captured node depends on can be added to and replaced.
// Source: cuda.h, cuStreamUpdateCaptureDependencies
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuStreamUpdateCaptureDependencies, 11030, CUstream, CUgraphNode *, size_t, unsigned);
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphGetRootNodes, 10000, CUgraph, CUgraphNode *, size_t *);
  USE(cuGraphNodeGetDependencies, 10000, CUgraphNode, CUgraphNode *, size_t *);
  CUresult (*info)(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, size_t *);
  *(void **)&info = find("cuStreamGetCaptureInfo", 11030);
  enum { ADD = 0, SET = 1 };
  CUdeviceptr data;
  CUstream stream;
  CUgraph graph = NULL, told = NULL;
  const CUgraphNode *nodes = NULL;
  CUgraphNode empty, last;
  size_t count = 0;
  int status = -1;
  OK(cuMemAlloc(&data, 4));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  EXPECT(cuStreamUpdateCaptureDependencies(stream, NULL, 0, ADD), ILLEGAL_STATE);
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(info(stream, &status, NULL, &told, NULL, NULL));
  OK(cuGraphAddEmptyNode(&empty, told, NULL, 0));
  OK(cuStreamUpdateCaptureDependencies(stream, &empty, 1, ADD));
  EXPECT(cuStreamUpdateCaptureDependencies(stream, &empty, 1, 7), INVALID_VALUE);
  OK(cuMemsetD8Async(data + 1, 1, 1, stream));
  OK(info(stream, &status, NULL, &told, &nodes, &count));
  EXPECT(count, 1);
  last = nodes[0];
  OK(cuGraphNodeGetDependencies(last, NULL, &count));
  EXPECT(count, 2);
  // What is left behind on purpose does not count as unjoined.
  OK(cuStreamUpdateCaptureDependencies(stream, NULL, 0, SET));
  OK(cuMemsetD8Async(data + 2, 1, 1, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphGetRootNodes(graph, NULL, &count));
  EXPECT(count, 3);
  return 0;
}
