// SPDX-License-Identifier: BSD-3-Clause
// Rule: cuGraphDebugDotPrint writes a graph to a file, in the DOT language, with its edges.
// Source: cuda.h, cuGraphDebugDotPrint
#include "graphs.h"

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, part)); ++at) ++count;
  return count;
}

int main(void) {
  start();
  USE_GRAPHS;
  USE_NODES;
  USE(cuGraphDebugDotPrint, 11030, CUgraph, const char *, unsigned);
  static char text[1 << 16];
  char path[] = "/tmp/graphXXXXXX";
  CUgraph graph;
  CUgraphNode first, second, third;
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddEmptyNode(&first, graph, NULL, 0));
  MUST(cuGraphAddEmptyNode(&second, graph, &first, 1));
  MUST(cuGraphAddEmptyNode(&third, graph, &second, 1));
  const int file = mkstemp(path);
  MUST_HOLD(file >= 0);
  MUST(cuGraphDebugDotPrint(graph, path, 0));
  MUST_HOLD(read(file, text, sizeof text - 1) > 0);
  close(file);
  unlink(path);
  MUST_BE(count_of(text, "digraph"), 1);
  MUST_BE(count_of(text, "->"), 2);
  MUST_BE(cuGraphDebugDotPrint(graph, NULL, 0), INVALID_VALUE);
  MUST_BE(cuGraphDebugDotPrint(graph, "/no/such/folder/graph", 0) != SUCCESS, 1);
  MUST_BE(cuGraphDebugDotPrint(NULL, path, 0), INVALID_VALUE);
  return 0;
}
