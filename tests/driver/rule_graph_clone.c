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
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
  OK(cuGraphAddEmptyNode(&second, graph, &first, 1));
  OK(cuGraphClone(&clone, graph));
  OK(cuGraphGetEdges(clone, NULL, NULL, &count));
  EXPECT(count, 1);
  OK(cuGraphGetEdges(clone, &tail, &head, &count));
  OK(cuGraphNodeFindInClone(&found, first, clone));
  EXPECT(found == tail && found != first, 1);
  OK(cuGraphNodeFindInClone(&found, second, clone));
  EXPECT(found == head && found != second, 1);
  OK(cuGraphAddEmptyNode(&found, graph, NULL, 0));
  OK(cuGraphGetNodes(clone, NULL, &count));
  EXPECT(count, 2);
  OK(cuGraphDestroy(graph));
  OK(cuGraphGetNodes(clone, NULL, &count));
  EXPECT(count, 2);
  OK(cuGraphDestroy(clone));
  return 0;
}
