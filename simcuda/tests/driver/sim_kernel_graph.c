// SPDX-License-Identifier: BSD-3-Clause
// A captured launch, and a node made for one, run with their own arguments at each launch.
#include "simcuda.h"

#include "driver_test.h"

static uint32_t ranges_of_add(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  if (capacity > 0) out[0] = (simcuda_range){*(const uint64_t *)launch->arguments[0], 4, 1, 0, 0};
  return 1;
}

static int32_t add(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)count;
  *(uint32_t *)ranges[0].bytes += *(const uint32_t *)launch->arguments[1];
  return 0;
}

struct kernel_node {
  CUfunction function;
  unsigned grid[3], block[3], shared_bytes;
  void **parameters, **extra;
};

int main(void) {
  start();
  USE_MEMORY;
  USE_KERNELS;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuGraphAddKernelNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      const struct kernel_node *);
  USE(cuGraphNodeGetType, 10000, CUgraphNode, int *);
  FIND_SIM(simcuda_kernel);
  const uint32_t sizes[] = {8, 4};
  uint32_t amount = 3, sum = 0;
  int type = -1;
  CUmodule module;
  CUfunction function;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode node, first;
  CUstream stream;
  CUdeviceptr data;
  size_t count = 1;
  MUST(simcuda_kernel("add", sizes, 2, ranges_of_add, add));
  MUST(cuModuleLoadData(&module, "simcuda module\nadd\n"));
  MUST(cuModuleGetFunction(&function, module, "add"));
  MUST(cuMemAlloc(&data, 4));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemsetD8Async(data, 0, 4, stream));
  void *arguments[] = {&data, &amount};
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
  MUST(cuStreamEndCapture(stream, &graph));
  amount = 10;
  MUST(cuGraphGetNodes(graph, &first, &count));
  MUST(cuGraphNodeGetType(first, &type));
  MUST_BE(type, 0);
  const struct kernel_node parameters = {function, {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL};
  MUST(cuGraphAddKernelNode(&node, graph, &first, 1, &parameters));
  amount = 100;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&sum, data, 4));
  MUST_BE(sum, 26);
  return 0;
}
