// SPDX-License-Identifier: BSD-3-Clause
// Rule: A clone is a graph of its own, whose nodes can be found.
// Source: cuda.h, cuGraphClone
#include "driver_test.h"

int main(void) {
  start();
  USE_GRAPHS;
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphClone, 10000, CUgraph *, CUgraph);
  USE(cuGraphNodeFindInClone, 10000, CUgraphNode *, CUgraphNode, CUgraph);
  USE(cuGraphGetEdges, 10000, CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
  CUgraph graph, clone;
  CUgraphNode first, second, found, tail, head;
  size_t count = 0;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddEmptyNode(&first, graph, NULL, 0));
  MUST(cuGraphAddEmptyNode(&second, graph, &first, 1));
  MUST(cuGraphClone(&clone, graph));
  MUST(cuGraphGetEdges(clone, NULL, NULL, &count));
  MUST_BE(count, 1);
  MUST(cuGraphGetEdges(clone, &tail, &head, &count));
  MUST(cuGraphNodeFindInClone(&found, first, clone));
  MUST_BE(found == tail && found != first, 1);
  MUST(cuGraphNodeFindInClone(&found, second, clone));
  MUST_BE(found == head && found != second, 1);
  MUST(cuGraphAddEmptyNode(&found, graph, NULL, 0));
  MUST(cuGraphGetNodes(clone, NULL, &count));
  MUST_BE(count, 2);
  MUST(cuGraphDestroy(graph));
  MUST(cuGraphGetNodes(clone, NULL, &count));
  MUST_BE(count, 2);
  MUST(cuGraphDestroy(clone));
  return 0;
}
