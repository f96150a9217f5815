// SPDX-License-Identifier: BSD-3-Clause
// Rule: A captured fork becomes branches, with the edges that the events made.
// Source: CUDA programming guide
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuGraphGetRootNodes, 10000, CUgraph, CUgraphNode *, size_t *);
  USE(cuGraphGetEdges, 10000, CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  enum { SIZE = 1 << 16, HALF = SIZE / 2, MEMCPY = 1, MEMSET = 2 };
  static unsigned char bytes[SIZE];
  CUdeviceptr from, to;
  CUstream main_stream, side;
  CUevent fork, join;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode nodes[8], tails[8], heads[8];
  size_t count = 0;
  int type = -1;
  MUST(cuMemAlloc(&from, SIZE));
  MUST(cuMemAlloc(&to, SIZE));
  MUST(cuStreamCreate(&main_stream, NON_BLOCKING));
  MUST(cuStreamCreate(&side, NON_BLOCKING));
  MUST(cuEventCreate(&fork, 2));
  MUST(cuEventCreate(&join, 2));
  MUST(cuStreamBeginCapture(main_stream, GLOBAL));
  MUST(cuMemsetD8Async(from, 1, HALF, main_stream));
  MUST(cuEventRecord(fork, main_stream));
  MUST(cuStreamWaitEvent(side, fork, 0));
  MUST(cuMemsetD8Async(from + HALF, 2, HALF, side));
  MUST(cuEventRecord(join, side));
  MUST(cuMemcpyDtoDAsync(to, from, HALF, main_stream));
  MUST(cuStreamWaitEvent(main_stream, join, 0));
  MUST(cuMemcpyDtoDAsync(to + HALF, from + HALF, HALF, main_stream));
  MUST(cuStreamEndCapture(main_stream, &graph));

  MUST(cuGraphGetNodes(graph, NULL, &count));
  MUST_BE(count, 4);
  MUST(cuGraphGetRootNodes(graph, NULL, &count));
  MUST_BE(count, 1);
  MUST(cuGraphGetRootNodes(graph, nodes, &count));
  MUST(cuGraphNodeGetType(nodes[0], &type));
  MUST_BE(type, MEMSET);
  MUST(cuGraphGetEdges(graph, NULL, NULL, &count));
  MUST_BE(count, 4);
  count = 8;  // more room than there are edges
  MUST(cuGraphGetEdges(graph, tails, heads, &count));
  MUST_BE(count, 4);
  MUST_BE(tails[3] != NULL && heads[3] != NULL, 1);
  MUST_BE(tails[4] == NULL && heads[4] == NULL, 1);
  count = 2;
  MUST(cuGraphGetNodes(graph, nodes, &count));
  MUST_BE(count, 2);

  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, side));
  MUST(cuStreamSynchronize(side));
  MUST(cuMemcpyDtoH(bytes, to, SIZE));
  MUST_BE(bytes[0], 1);
  MUST_BE(bytes[HALF - 1], 1);
  MUST_BE(bytes[HALF], 2);
  MUST_BE(bytes[SIZE - 1], 2);
  return 0;
}
