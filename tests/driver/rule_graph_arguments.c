// SPDX-License-Identifier: BSD-3-Clause
// Rule: What is no graph, no edge or no flag is INVALID_VALUE.
// Source: cuda.h, the graph functions' results
#include "driver_test.h"

int main(void) {
  start();
  USE_GRAPHS;
  USE(cuGraphAddEmptyNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
  USE(cuGraphAddDependencies, 10000, CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
  CUgraph graph, other;
  CUgraphExec exec = NULL;
  CUgraphNode first, second, foreign;
  EXPECT(cuGraphCreate(&graph, 1), INVALID_VALUE);
  EXPECT(cuGraphCreate(NULL, 0), INVALID_VALUE);
  EXPECT(cuGraphDestroy(NULL), INVALID_VALUE);
  EXPECT(cuGraphInstantiateWithFlags(&exec, NULL, 0), INVALID_VALUE);
  EXPECT(cuGraphLaunch(NULL, NULL), INVALID_VALUE);
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphCreate(&other, 0));
  EXPECT(cuGraphInstantiateWithFlags(NULL, graph, 0), INVALID_VALUE);
  OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
  OK(cuGraphAddEmptyNode(&second, graph, &first, 1));
  OK(cuGraphAddEmptyNode(&foreign, other, NULL, 0));
  EXPECT(cuGraphAddEmptyNode(&foreign, other, &first, 1), INVALID_VALUE);
  EXPECT(cuGraphAddEmptyNode(&foreign, other, NULL, 1), INVALID_VALUE);
  EXPECT(cuGraphAddDependencies(graph, &first, &second, 1), INVALID_VALUE);  // it is there already
  EXPECT(cuGraphAddDependencies(graph, &first, &foreign, 1), INVALID_VALUE);
  EXPECT(cuGraphAddDependencies(graph, &first, &first, 1), INVALID_VALUE);
  OK(cuGraphAddDependencies(graph, NULL, NULL, 0));
  OK(cuGraphDestroy(graph));
  OK(cuGraphDestroy(other));
  return 0;
}
