// SPDX-License-Identifier: BSD-3-Clause
// Rule: A graph runs when it is launched, each time, in the order of the stream.
// Source: cuda.h, cuGraphLaunch
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  enum { SIZE = 1 << 16 };
  static unsigned char bytes[SIZE];
  CUdeviceptr from, to, kept;
  CUstream stream;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  MUST(cuMemAlloc(&from, SIZE));
  MUST(cuMemAlloc(&to, SIZE));
  MUST(cuMemAlloc(&kept, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemcpyDtoDAsync(to, from, SIZE, stream));
  MUST(cuMemsetD8Async(from, 9, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));  // what is launched does not need it

  MUST(cuMemsetD8Async(from, 1, SIZE, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuMemcpyDtoDAsync(kept, to, SIZE, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, kept, SIZE));
  MUST_BE(bytes[0], 1);
  MUST_BE(bytes[SIZE - 1], 1);
  MUST(cuMemcpyDtoH(bytes, to, SIZE));
  MUST_BE(bytes[0], 9);
  MUST_BE(bytes[SIZE - 1], 9);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuStreamDestroy(stream));
  return 0;
}
