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
  OK(cuMemAlloc(&from, SIZE));
  OK(cuMemAlloc(&to, SIZE));
  OK(cuStreamCreate(&main_stream, NON_BLOCKING));
  OK(cuStreamCreate(&side, NON_BLOCKING));
  OK(cuEventCreate(&fork, 2));
  OK(cuEventCreate(&join, 2));
  OK(cuStreamBeginCapture(main_stream, GLOBAL));
  OK(cuMemsetD8Async(from, 1, HALF, main_stream));
  OK(cuEventRecord(fork, main_stream));
  OK(cuStreamWaitEvent(side, fork, 0));
  OK(cuMemsetD8Async(from + HALF, 2, HALF, side));
  OK(cuEventRecord(join, side));
  OK(cuMemcpyDtoDAsync(to, from, HALF, main_stream));
  OK(cuStreamWaitEvent(main_stream, join, 0));
  OK(cuMemcpyDtoDAsync(to + HALF, from + HALF, HALF, main_stream));
  OK(cuStreamEndCapture(main_stream, &graph));

  OK(cuGraphGetNodes(graph, NULL, &count));
  EXPECT(count, 4);
  OK(cuGraphGetRootNodes(graph, NULL, &count));
  EXPECT(count, 1);
  OK(cuGraphGetRootNodes(graph, nodes, &count));
  OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT(type, MEMSET);
  OK(cuGraphGetEdges(graph, NULL, NULL, &count));
  EXPECT(count, 4);
  count = 8;  // more room than there are edges
  OK(cuGraphGetEdges(graph, tails, heads, &count));
  EXPECT(count, 4);
  EXPECT(tails[3] != NULL && heads[3] != NULL, 1);
  EXPECT(tails[4] == NULL && heads[4] == NULL, 1);
  count = 2;
  OK(cuGraphGetNodes(graph, nodes, &count));
  EXPECT(count, 2);

  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, side));
  OK(cuStreamSynchronize(side));
  OK(cuMemcpyDtoH(bytes, to, SIZE));
  EXPECT(bytes[0], 1);
  EXPECT(bytes[HALF - 1], 1);
  EXPECT(bytes[HALF], 2);
  EXPECT(bytes[SIZE - 1], 2);
  return 0;
}
