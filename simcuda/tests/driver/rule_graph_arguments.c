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
  MUST_BE(cuGraphCreate(&graph, 1), INVALID_VALUE);
  MUST_BE(cuGraphCreate(NULL, 0), INVALID_VALUE);
  MUST_BE(cuGraphDestroy(NULL), INVALID_VALUE);
  MUST_BE(cuGraphInstantiateWithFlags(&exec, NULL, 0), INVALID_VALUE);
  MUST_BE(cuGraphLaunch(NULL, NULL), INVALID_VALUE);
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphCreate(&other, 0));
  MUST_BE(cuGraphInstantiateWithFlags(NULL, graph, 0), INVALID_VALUE);
  MUST(cuGraphAddEmptyNode(&first, graph, NULL, 0));
  MUST(cuGraphAddEmptyNode(&second, graph, &first, 1));
  MUST(cuGraphAddEmptyNode(&foreign, other, NULL, 0));
  MUST_BE(cuGraphAddEmptyNode(&foreign, other, &first, 1), INVALID_VALUE);
  MUST_BE(cuGraphAddEmptyNode(&foreign, other, NULL, 1), INVALID_VALUE);
  MUST_BE(cuGraphAddDependencies(graph, &first, &second, 1), INVALID_VALUE);  // it is there already
  MUST_BE(cuGraphAddDependencies(graph, &first, &foreign, 1), INVALID_VALUE);
  MUST_BE(cuGraphAddDependencies(graph, &first, &first, 1), INVALID_VALUE);
  MUST(cuGraphAddDependencies(graph, NULL, NULL, 0));
  MUST(cuGraphDestroy(graph));
  MUST(cuGraphDestroy(other));
  return 0;
}
