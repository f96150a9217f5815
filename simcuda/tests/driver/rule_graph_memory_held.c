// SPDX-License-Identifier: BSD-3-Clause
// Rule: A device holds what graphs have allocated until it is told to trim; the high marks can be
// set to 0, and nothing else.
// Source: cuda.h, cuDeviceGetGraphMemAttribute and cuDeviceGraphMemTrim
#include "graphs.h"

static uint64_t attribute_of(int attribute) {
  USE(cuDeviceGetGraphMemAttribute, 11040, CUdevice, int, void *);
  uint64_t value = 0;
  MUST(cuDeviceGetGraphMemAttribute(0, attribute, &value));
  return value;
}

int main(void) {
  start();
  USE_STREAMS;
  USE_GRAPHS;
  USE_MEMORY_NODES;
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuDeviceGetGraphMemAttribute, 11040, CUdevice, int, void *);
  USE(cuDeviceSetGraphMemAttribute, 11040, CUdevice, int, void *);
  USE(cuDeviceGraphMemTrim, 11040, CUdevice);
  enum { USED = 0, USED_HIGH = 1, RESERVED = 2, RESERVED_HIGH = 3, SIZE = 3 << 20 };
  Allocation allocation = allocation_of(SIZE);
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  CUgraphNode node;
  uint64_t zero = 0, one = 1;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuDeviceGraphMemTrim(0));
  MUST_BE(attribute_of(USED), 0);
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &allocation));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(attribute_of(USED) >= SIZE, 1);
  MUST_BE(attribute_of(RESERVED) >= attribute_of(USED), 1);
  MUST_BE(attribute_of(USED_HIGH) >= attribute_of(USED), 1);
  MUST_BE(attribute_of(RESERVED_HIGH) >= attribute_of(RESERVED), 1);
  MUST(cuDeviceGraphMemTrim(0));
  MUST_BE(attribute_of(USED) >= SIZE, 1);  // it has not been freed
  MUST(cuMemFreeAsync(allocation.address, stream));
  MUST(cuStreamSynchronize(stream));
  MUST_BE(attribute_of(RESERVED) >= SIZE, 1);
  MUST(cuDeviceGraphMemTrim(0));
  MUST_BE(attribute_of(USED), 0);
  MUST_BE(attribute_of(RESERVED), 0);
  MUST_BE(attribute_of(USED_HIGH) >= SIZE, 1);
  MUST(cuGraphLaunch(exec, stream));  // gets it again
  MUST(cuMemFreeAsync(allocation.address, stream));
  MUST(cuStreamSynchronize(stream));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuDeviceGraphMemTrim(0));
  MUST_BE(attribute_of(RESERVED), 0);
  MUST(cuDeviceSetGraphMemAttribute(0, USED_HIGH, &zero));
  MUST(cuDeviceSetGraphMemAttribute(0, RESERVED_HIGH, &zero));
  MUST_BE(cuDeviceSetGraphMemAttribute(0, USED_HIGH, &one), INVALID_VALUE);
  MUST_BE(cuDeviceSetGraphMemAttribute(0, USED, &zero), INVALID_VALUE);
  MUST_BE(cuDeviceGetGraphMemAttribute(0, 4, &zero), INVALID_VALUE);
  MUST_BE(cuDeviceGetGraphMemAttribute(0, USED, NULL), INVALID_VALUE);
  MUST_BE(cuDeviceGetGraphMemAttribute(1000, USED, &zero), INVALID_DEVICE);
  MUST_BE(cuDeviceGraphMemTrim(-1), INVALID_DEVICE);
  return 0;
}
