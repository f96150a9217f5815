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
  OK(cuMemAlloc(&data, 1));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemsetD8Async(data, 0, 1, stream));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuMemsetD8Async(data, 3, 1, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&value, data, 1));
  EXPECT(value, 3);
  return 0;
}
