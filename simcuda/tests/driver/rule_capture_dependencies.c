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
  MUST(cuMemAlloc(&data, 4));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST_BE(cuStreamUpdateCaptureDependencies(stream, NULL, 0, ADD), ILLEGAL_STATE);
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(info(stream, &status, NULL, &told, NULL, NULL));
  MUST(cuGraphAddEmptyNode(&empty, told, NULL, 0));
  MUST(cuStreamUpdateCaptureDependencies(stream, &empty, 1, ADD));
  MUST_BE(cuStreamUpdateCaptureDependencies(stream, &empty, 1, 7), INVALID_VALUE);
  MUST(cuMemsetD8Async(data + 1, 1, 1, stream));
  MUST(info(stream, &status, NULL, &told, &nodes, &count));
  MUST_BE(count, 1);
  last = nodes[0];
  MUST(cuGraphNodeGetDependencies(last, NULL, &count));
  MUST_BE(count, 2);
  // A node left behind on purpose does not count as unjoined.
  MUST(cuStreamUpdateCaptureDependencies(stream, NULL, 0, SET));
  MUST(cuMemsetD8Async(data + 2, 1, 1, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphGetRootNodes(graph, NULL, &count));
  MUST_BE(count, 3);
  return 0;
}
