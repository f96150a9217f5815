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
  MUST(cuMemAlloc(&from, SIZE));
  MUST(cuMemAlloc(&to, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemcpyDtoDAsync(to, from, SIZE, stream));
  MUST(cuMemsetD8Async(from, 5, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &inner));

  MUST(cuGraphCreate(&outer, 0));
  MUST(cuGraphAddChildGraphNode(&child, outer, NULL, 0, inner));
  MUST(cuGraphAddChildGraphNode(&child, outer, &child, 1, inner));
  MUST(cuGraphDestroy(inner));  // the node has a copy
  MUST(cuGraphGetNodes(outer, nodes, &count));
  MUST_BE(count, 2);
  MUST(cuGraphNodeGetType(nodes[0], &type));
  MUST_BE(type, CHILD);
  MUST(cuGraphInstantiateWithFlags(&exec, outer, 0));
  MUST(cuMemsetD8Async(from, 1, SIZE, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, to, SIZE));
  MUST_BE(bytes[0], 5);
  MUST_BE(bytes[SIZE - 1], 5);
  return 0;
}
