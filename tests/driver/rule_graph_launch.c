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
  OK(cuMemAlloc(&from, SIZE));
  OK(cuMemAlloc(&to, SIZE));
  OK(cuMemAlloc(&kept, SIZE));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(cuMemcpyDtoDAsync(to, from, SIZE, stream));
  OK(cuMemsetD8Async(from, 9, SIZE, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphDestroy(graph));  // what is launched does not need it

  OK(cuMemsetD8Async(from, 1, SIZE, stream));
  OK(cuGraphLaunch(exec, stream));
  OK(cuMemcpyDtoDAsync(kept, to, SIZE, stream));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(bytes, kept, SIZE));
  EXPECT(bytes[0], 1);
  EXPECT(bytes[SIZE - 1], 1);
  OK(cuMemcpyDtoH(bytes, to, SIZE));
  EXPECT(bytes[0], 9);
  EXPECT(bytes[SIZE - 1], 9);
  OK(cuGraphExecDestroy(exec));
  OK(cuStreamDestroy(stream));
  return 0;
}
