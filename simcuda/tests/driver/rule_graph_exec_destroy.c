// SPDX-License-Identifier: BSD-3-Clause
// Rule: What has been launched still runs when its executable graph is destroyed.
// Source: cuda.h, cuGraphExecDestroy
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  CUdeviceptr data;
  CUstream stream;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  unsigned char value = 0;
  MUST(cuMemAlloc(&data, 1));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemsetD8Async(data, 0, 1, stream));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemsetD8Async(data, 3, 1, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&value, data, 1));
  MUST_BE(value, 3);
  return 0;
}
