// SPDX-License-Identifier: BSD-3-Clause
// Rule: An allocation of 0 bytes in stream order succeeds, in a capture, too, and can be freed.
// Source: assumed, cuda.core's tests of its memory resources; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_POOLS;
  USE_CAPTURE;
  USE_GRAPHS;
  USE_MEMORY;
  const PoolProperties properties = {.type = 1, .location_type = 1};
  CUmemoryPool pool;
  CUstream stream;
  CUdeviceptr nothing = 1, more = 1, something;
  CUgraph graph;
  CUgraphExec exec;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemAllocAsync(&nothing, 0, stream));
  MUST(cuMemAllocFromPoolAsync(&more, 0, pool, stream));
  MUST(cuMemsetD8Async(nothing, 1, 0, stream));
  MUST(cuMemAllocAsync(&something, 64, stream));
  FOUND("the address of nothing is 0", nothing == 0, 1);
  FOUND("the address of nothing of a pool is 0", more == 0, 1);
  FOUND_STATUS("freeing nothing", cuMemFreeAsync(nothing, stream), SUCCESS);
  FOUND_STATUS("freeing nothing of a pool", cuMemFreeAsync(more, stream), SUCCESS);
  MUST(cuMemFreeAsync(something, stream));
  MUST(cuStreamSynchronize(stream));

  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemAllocAsync(&nothing, 0, stream));
  FOUND_STATUS("freeing nothing in a capture", cuMemFreeAsync(nothing, stream), SUCCESS);
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuMemPoolDestroy(pool));
  MUST(cuStreamDestroy(stream));
  return 0;
}
