// SPDX-License-Identifier: BSD-3-Clause
// Rule: A graph launched into a capture becomes one node, and runs in its place.
// Source: CUDA programming guide
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  USE(cuGraphAddChildGraphNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      CUgraph);
  enum { SIZE = 4096, CHILD = 4 };
  static unsigned char bytes[SIZE];
  CUdeviceptr from, to;
  CUstream stream;
  CUgraph inner = NULL, outer = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode nodes[3], child;
  size_t count = 3;
  int type = -1;
  OK(cuMemAlloc(&from, SIZE));
  OK(cuMemAlloc(&to, SIZE));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuMemcpyDtoDAsync(to, from, SIZE, stream));
  OK(cuMemsetD8Async(from, 5, SIZE, stream));
  OK(cuStreamEndCapture(stream, &inner));

  OK(cuGraphCreate(&outer, 0));
  OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
  OK(cuGraphAddChildGraphNode(&child, outer, &child, 1, inner));
  OK(cuGraphDestroy(inner));  // the node has a copy
  OK(cuGraphGetNodes(outer, nodes, &count));
  EXPECT(count, 2);
  OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT(type, CHILD);
  OK(cuGraphInstantiateWithFlags(&exec, outer, 0));
  OK(cuMemsetD8Async(from, 1, SIZE, stream));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(bytes, to, SIZE));
  EXPECT(bytes[0], 5);
  EXPECT(bytes[SIZE - 1], 5);
  return 0;
}
