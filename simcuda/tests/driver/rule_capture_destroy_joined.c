// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream that has joined a capture may be destroyed once the others have joined it: the
// capture goes on.
// Source: assumed, after what cuda.core does; to be checked on a GPU
#include "driver_test.h"

enum { SIZE = 64 };

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  CUstream stream, other;
  CUevent event;
  CUdeviceptr data;
  CUgraph graph = NULL;
  CUgraphExec exec;
  unsigned char bytes[2] = {0};
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemsetD8Async(data, 1, 2, stream));
  MUST(cuEventRecord(event, stream));
  MUST(cuStreamWaitEvent(other, event, 0));
  MUST(cuMemsetD8Async(data, 2, 1, other));
  MUST(cuEventRecord(event, other));
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuStreamDestroy(other));
  MUST(cuMemsetD8Async(data + 1, 3, 1, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, data, 2));
  MUST_BE(bytes[0] * 10 + bytes[1], 23);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  return 0;
}
