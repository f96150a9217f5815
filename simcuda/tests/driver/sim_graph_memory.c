// SPDX-License-Identifier: BSD-3-Clause
// Memory of a graph is freed once, where it is there: not before the launch, not twice in a
// capture, by another graph as well; and a graph that has some is no child of another.
#include "driver_test.h"

enum { SIZE = 4096 };

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE_POOLS;
  USE(cuGraphAddChildGraphNode, 10000, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      CUgraph);
  unsigned char byte = 0;
  CUdeviceptr data, second, target;
  CUstream stream;
  CUgraph graph = NULL, other = NULL, parent = NULL;
  CUgraphExec exec, frees;
  CUgraphNode node;
  MUST(cuMemAlloc(&target, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));

  // Freed by the graph that allocates it: once, and by nobody else.
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemAllocAsync(&data, SIZE, stream));
  MUST(cuMemAllocAsync(&second, SIZE, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST_BE(cuMemFreeAsync(data, stream), INVALID_VALUE);
  MUST_BE(cuMemFree(data), INVALID_VALUE);
  MUST(cuStreamEndCapture(stream, &graph));
  // There is no memory before a launch.
  MUST_BE(cuMemFree(second), INVALID_VALUE);
  MUST_BE(cuMemFreeAsync(second, stream), INVALID_VALUE);
  MUST(cuGraphCreate(&parent, 0));
  MUST_BE(cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph), NOT_SUPPORTED);
  MUST(cuGraphDestroy(parent));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST_BE(cuMemFree(data), INVALID_VALUE);

  // Another graph frees what is left, at each launch of its own.
  MUST(cuStreamBeginCapture(stream, RELAXED));
  MUST(cuMemcpyDtoDAsync(target, second, SIZE, stream));
  MUST(cuMemFreeAsync(second, stream));
  MUST_BE(cuMemFreeAsync(second, stream), INVALID_VALUE);
  MUST(cuStreamEndCapture(stream, &other));
  MUST(cuGraphInstantiateWithFlags(&frees, other, 0));
  for (int i = 0; i < 2; ++i) {
    if (i > 0) MUST(cuGraphLaunch(exec, stream));
    MUST(cuMemsetD8Async(second, (unsigned char)(3 + i), SIZE, stream));
    MUST(cuGraphLaunch(frees, stream));
    MUST_BE(cuMemFree(second), INVALID_VALUE);
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(&byte, target + SIZE - 1, 1));
    MUST_BE(byte, 3 + i);
  }
  MUST(cuGraphExecDestroy(frees));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(other));
  MUST(cuGraphDestroy(graph));

  // A capture that has been invalidated takes neither.
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemAllocAsync(&data, SIZE, stream));
  MUST_BE(cuStreamSynchronize(stream), CAPTURE_UNSUPPORTED);
  MUST_BE(cuMemAllocAsync(&second, SIZE, stream), CAPTURE_INVALIDATED);
  MUST_BE(cuMemFreeAsync(data, stream), CAPTURE_INVALIDATED);
  MUST_BE(cuStreamEndCapture(stream, &graph), CAPTURE_INVALIDATED);
  MUST_BE(cuMemFree(data), INVALID_VALUE);  // it went with the graph

  // A graph that frees it and goes before it was launched leaves that to another one.
  USE(cuGraphAddMemFreeNode, 11040, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
      CUdeviceptr);
  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(cuMemAllocAsync(&data, SIZE, stream));
  MUST(cuStreamEndCapture(stream, &graph));
  for (int i = 0; i < 2; ++i) {
    MUST(cuGraphCreate(&other, 0));
    MUST(cuGraphAddMemFreeNode(&node, other, NULL, 0, data));
    MUST(cuGraphDestroy(other));
  }
  // The device keeps what a launch has yet to use.
  USE(cuDeviceGraphMemTrim, 11040, CUdevice);
  USE(cuDeviceGetGraphMemAttribute, 11040, CUdevice, int, void *);
  enum { USED_NOW = 0 };
  uint64_t used = 0, left = 7;
  MUST(cuDeviceGraphMemTrim(0));
  MUST(cuMemsetD8Async(target, 0, SIZE, stream));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuMemFreeAsync(data, stream));
  MUST(cuDeviceGetGraphMemAttribute(0, USED_NOW, &used));
  MUST(cuDeviceGraphMemTrim(0));
  MUST(cuDeviceGetGraphMemAttribute(0, USED_NOW, &left));
  MUST_HOLD(used == SIZE && left == used);
  MUST(cuStreamSynchronize(stream));
  MUST(cuDeviceGraphMemTrim(0));
  MUST(cuDeviceGetGraphMemAttribute(0, USED_NOW, &left));
  MUST_BE(left, 0);
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuStreamDestroy(stream));
  MUST(cuMemFree(target));
  return 0;
}
