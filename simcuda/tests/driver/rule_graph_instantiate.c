// SPDX-License-Identifier: BSD-3-Clause
// Rule: All forms of cuGraphInstantiate give a graph that runs.
// Source: cuda.h
#include "driver_test.h"

struct parameters {
  uint64_t flags;
  CUstream upload;
  CUgraphNode error_node;
  int result;
};

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuGraphInstantiate, 11000, CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
  USE(cuGraphInstantiateWithParams, 12000, CUgraphExec *, CUgraph, struct parameters *);
  USE(cuGraphExecGetFlags, 12000, CUgraphExec, uint64_t *);
  enum { UPLOAD = 2 };
  CUdeviceptr data;
  CUstream stream;
  CUgraph graph = NULL;
  CUgraphExec execs[2] = {NULL, NULL};
  CUgraphNode node = NULL;
  char log[8] = "x";
  uint64_t flags = 9;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemsetD8Async(data, 3, 1, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&execs[0], graph, &node, log, sizeof log));
  struct parameters parameters = {UPLOAD, stream, NULL, -1};
  MUST(cuGraphInstantiateWithParams(&execs[1], graph, &parameters));
  MUST_BE(parameters.result, 0);
  MUST_BE(parameters.error_node == NULL, 1);
  MUST(cuGraphExecGetFlags(execs[0], &flags));
  MUST_BE(flags, 0);
  for (int i = 0; i < 2; ++i) {
    unsigned char value = 0;
    MUST(cuMemsetD8Async(data, 0, 1, stream));
    MUST(cuGraphLaunch(execs[i], stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(&value, data, 1));
    MUST_BE(value, 3);
    MUST(cuGraphExecDestroy(execs[i]));
  }
  return 0;
}
