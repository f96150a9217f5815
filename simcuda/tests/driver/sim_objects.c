// SPDX-License-Identifier: BSD-3-Clause
// What a client has made and not ended is counted, so that a test finds what was lost.
#include "simcuda.h"

#include "arrays.h"

static void no_more(void *unused) { (void)unused; }

static void check_others(void) {
  USE_GRAPHS;
  USE_POOLS;
  USE_ARRAYS;
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuUserObjectRelease, 11030, CUuserObject, unsigned);
  FIND_SIM(simcuda_objects);
  static const char *const types[] = {"CUmemoryPool", "CUarray", "CUgraph", "CUgraphExec",
                                      "CUuserObject"};
  enum { TYPES = sizeof types / sizeof *types };
  const PoolProperties properties = {.type = 1, .location_type = 1};
  const ArrayDescriptor shape = {4, 4, UINT8, 1};
  CUmemoryPool pool;
  CUarray array;
  CUgraph graph;
  CUgraphExec exec;
  CUuserObject object;
  CUdeviceptr data;
  for (int i = 0; i < TYPES; ++i) MUST_BE(simcuda_objects(types[i]), 0);
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuArrayCreate(&array, &shape));
  MUST(cuGraphCreate(&graph, 0));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuUserObjectCreate(&object, NULL, no_more, 1, 1));
  for (int i = 0; i < TYPES; ++i) MUST_BE(simcuda_objects(types[i]), 1);
  MUST(cuUserObjectRelease(object, 1));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
  MUST(cuArrayDestroy(array));
  // Memory that a stream will free no longer counts.
  const uint64_t memories = simcuda_objects("CUdeviceptr");
  MUST(cuMemAllocFromPoolAsync(&data, 64, pool, LEGACY));
  MUST_BE(simcuda_objects("CUdeviceptr"), memories + 1);
  MUST(cuMemFreeAsync(data, LEGACY));
  MUST_BE(simcuda_objects("CUdeviceptr"), memories);
  MUST(cuMemPoolDestroy(pool));
  for (int i = 0; i < TYPES; ++i) MUST_BE(simcuda_objects(types[i]), 0);
}

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  FIND_SIM(simcuda_objects);
  CUstream stream;
  CUevent event;
  CUdeviceptr data;
  const uint64_t streams = simcuda_objects("CUstream"), events = simcuda_objects("CUevent");
  const uint64_t memories = simcuda_objects("CUdeviceptr");
  MUST_HOLD(simcuda_objects("CUcontext") > 0);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 0));
  MUST(cuMemAlloc(&data, 16));
  MUST_BE(simcuda_objects("CUstream"), streams + 1);
  MUST_BE(simcuda_objects("CUevent"), events + 1);
  MUST_BE(simcuda_objects("CUdeviceptr"), memories + 1);
  MUST(cuMemFree(data));
  MUST(cuEventDestroy(event));
  MUST(cuStreamDestroy(stream));
  MUST_BE(simcuda_objects("CUstream"), streams);
  MUST_BE(simcuda_objects("CUevent"), events);
  MUST_BE(simcuda_objects("CUdeviceptr"), memories);
  MUST_HOLD(simcuda_objects("CUnothing") == UINT64_MAX);
  MUST_HOLD(simcuda_objects(NULL) == UINT64_MAX);
  check_others();
  return 0;
}
