// SPDX-License-Identifier: BSD-3-Clause
// Simulator: Inside a launched graph its edges order the nodes, and nothing else does; outside, a
// launch has its place in its stream, and launches of one executable graph follow each other.
#include "race_test.h"

static CUdeviceptr data;
static unsigned char *shared;
static CUstream a, b;

static uint32_t ranges_of_use(const simcuda_launch *launch, simcuda_range *out, uint32_t capacity) {
  const int32_t write = *(const int32_t *)launch->arguments[1];
  if (capacity > 0)
    out[0] = (simcuda_range){*(const uint64_t *)launch->arguments[0], 64, write, 0, 0};
  return 1;
}

static void use_shared(void *write) { MUST(sim.host_access(shared, 64, write != NULL)); }

static void destroy(void *destroyed) {
  use_shared(destroyed);
  __atomic_store_n((int *)destroyed, 1, __ATOMIC_SEQ_CST);
}

static void begin(CUstream stream) {
  USE_CAPTURE;
  MUST(cuStreamBeginCapture(stream, RELAXED));
}

static CUgraphExec end(CUstream stream) {
  USE_CAPTURE;
  USE_GRAPHS;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));
  return exec;
}

static void wait_for(CUstream stream, CUstream other) {
  USE_EVENTS;
  CUevent event;
  MUST(cuEventCreate(&event, 2));
  MUST(cuEventRecord(event, other));
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuEventDestroy(event));
}

int main(void) {
  start_races();
  USE_MEMORY;
  USE_KERNELS;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemFreeAsync, 11020, CUdeviceptr, CUstream);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  FIND_SIM(simcuda_kernel);
  const uint32_t sizes[] = {8, 4};
  CUmodule module;
  CUfunction use;
  CUevent event;
  CUdeviceptr graphs = 0, later = 0;
  CUgraphExec exec, other;
  int32_t reading = 0, writing = 1;
  MUST(simcuda_kernel("use", sizes, 2, ranges_of_use, NULL));
  MUST(cuModuleLoadData(&module, "simcuda module\nuse\n"));
  MUST(cuModuleGetFunction(&use, module, "use"));
  MUST(cuMemAlloc(&data, 4096));
  MUST(cuMemHostAlloc((void **)&shared, 4096, 0));
  const CUdeviceptr pinned = (uintptr_t)shared;
  MUST(cuStreamCreate(&a, NON_BLOCKING));
  MUST(cuStreamCreate(&b, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));

  // Parallel branches; only the launch reports the race, once for each.
  begin(a);
  wait_for(b, a);
  MUST(cuMemsetD8Async(data, 1, 64, a));
  MUST(cuMemsetD8Async(data + 32, 2, 64, b));
  wait_for(a, b);
  MUST(cuMemsetD8Async(data, 3, 128, a));
  exec = end(a);
  RACES(0, );
  RACES(1, MUST(cuGraphLaunch(exec, a)););
  RACES(2, MUST(cuGraphLaunch(exec, a)); MUST(cuGraphLaunch(exec, b)););
  MUST(cuGraphExecDestroy(exec));

  // In the order of edges; a child's edges come between those of its node.
  begin(a);
  MUST(cuMemsetD8Async(data, 1, 64, a));
  other = end(a);
  begin(a);
  MUST(cuMemsetD8Async(data, 1, 64, a));
  wait_for(b, a);
  MUST(cuGraphLaunch(other, b));
  wait_for(a, b);
  MUST(cuMemcpyDtoDAsync(data + 64, data, 64, a));
  exec = end(a);
  RACES(0, MUST(cuGraphLaunch(exec, a)); MUST(cuGraphLaunch(exec, b)););
  // The child is nobody's launch: it and the graph that it was captured from are not ordered.
  RACES(2, MUST(cuGraphLaunch(exec, a)); MUST(cuGraphLaunch(other, b)););
  RACES(0, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuGraphLaunch(other, b)););
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphExecDestroy(other));

  // Kernels, by what they state.
  for (int i = 0; i < 2; ++i) {
    void *reads[] = {&data, &reading}, *writes[] = {&data, &writing};
    begin(a);
    wait_for(b, a);
    MUST(cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, a, reads, NULL));
    MUST(cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, b, i ? writes : reads, NULL));
    wait_for(a, b);
    exec = end(a);
    RACES(i, MUST(cuGraphLaunch(exec, a)););
    MUST(cuGraphExecDestroy(exec));
  }

  // An external record is passed on from within the graph: what comes after it there is not.
  begin(a);
  MUST(cuMemsetD8Async(data, 1, 64, a));
  MUST(cuEventRecordWithFlags(event, a, 1));
  MUST(cuMemsetD8Async(data + 64, 1, 64, a));
  exec = end(a);
  RACES(0, MUST(cuGraphLaunch(exec, a)); MUST(cuStreamWaitEvent(b, event, 0));
        MUST(cuMemsetD8Async(data, 2, 64, b)););
  RACES(1, MUST(cuGraphLaunch(exec, a)); MUST(cuStreamWaitEvent(b, event, 0));
        MUST(cuMemsetD8Async(data, 2, 128, b)););
  MUST(cuGraphExecDestroy(exec));

  // An external wait takes what was recorded before the launch.
  begin(a);
  MUST(cuStreamWaitEvent(a, event, 1));
  MUST(cuMemsetD8Async(data, 1, 64, a));
  exec = end(a);
  RACES(0, MUST(cuMemsetD8Async(data, 2, 64, b)); MUST(cuEventRecord(event, b));
        MUST(cuGraphLaunch(exec, a)););
  RACES(1, MUST(cuEventRecord(event, b)); MUST(cuMemsetD8Async(data, 2, 64, b));
        MUST(cuGraphLaunch(exec, a)););
  MUST(cuGraphExecDestroy(exec));

  // Memory of a graph: used outside of its life; each launch begins another.
  begin(a);
  MUST(cuMemAllocAsync(&graphs, 64, a));
  MUST(cuMemsetD8Async(graphs, 1, 64, a));
  exec = end(a);
  begin(b);
  MUST(cuMemsetD8Async(graphs, 2, 64, b));
  other = end(b);
  RACES(1, MUST(cuGraphLaunch(exec, a)); MUST(cuMemsetD8Async(graphs, 2, 64, b)); wait_for(a, b);
        MUST(cuMemFreeAsync(graphs, a)););
  RACES(1, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuMemsetD8Async(graphs, 2, 64, b));
        MUST(cuMemFreeAsync(graphs, a)););
  for (int i = 0; i < 2; ++i)
    RACES(0, MUST(cuGraphLaunch(exec, a)); wait_for(b, a); MUST(cuGraphLaunch(other, b));
          MUST(cuMemFreeAsync(graphs, b)); MUST(cuGraphLaunch(exec, a));
          MUST(cuMemFreeAsync(graphs, a)););
  // Before it is there: with its allocation, its own use, its end.
  RACES(3, MUST(cuGraphLaunch(other, b)); MUST(cuGraphLaunch(exec, a));
        MUST(cuMemFreeAsync(graphs, a)););
  // Memory that was freed and then forgotten is named without a race, and the call still fails.
  CUdeviceptr gone = 0;
  CUgraphExec uses_gone;
  MUST(cuMemAllocAsync(&gone, 3 * 4096, a));
  begin(a);
  MUST(cuMemsetD8Async(gone, 1, 64, a));
  uses_gone = end(a);
  RACES(1, MUST(cuMemFreeAsync(gone, a)); MUST(cuGraphLaunch(uses_gone, a)););
  RACES(0, MUST_BE(cuMemsetD8Async(gone, 1, 64, a), INVALID_VALUE););
  RACES(0, MUST_BE(cuMemsetD8Async(graphs, 1, 64, a), INVALID_VALUE););
  RACES(0, MUST(cuGraphLaunch(other, b));
        MUST_BE(cuMemsetD8Async(graphs, 1, 64, a), INVALID_VALUE););
  MUST(cuGraphExecDestroy(uses_gone));
  // A capture of its launch would be a second graph with this memory.
  begin(b);
  MUST_BE(cuGraphLaunch(exec, b), NOT_SUPPORTED);
  MUST(cuMemsetD8Async(data, 1, 64, b));
  MUST(cuGraphExecDestroy(end(b)));
  MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphExecDestroy(other));

  // Host nodes, at their place; a fork that leads past one is not ordered with it.
  for (int i = 0; i < 2; ++i) {
    begin(a);
    MUST(cuMemsetD8Async(pinned, 1, 64, a));
    if (i) wait_for(b, a);
    MUST(cuLaunchHostFunc(a, use_shared, &data));
    if (!i) wait_for(b, a);
    MUST(cuMemcpyDtoDAsync(data, pinned, 64, b));
    wait_for(a, b);
    exec = end(a);
    RACES(i, MUST(cuGraphLaunch(exec, a)); MUST(cuStreamSynchronize(a)););
    MUST(cuGraphExecDestroy(exec));
  }

  // A user object's destructor comes after the launches that held it, and shows this without a
  // call. The stream that waits for the launch is held up, so its queries tell the host nothing.
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuGraphRetainUserObject, 11030, CUgraph, CUuserObject, unsigned, unsigned);
  int destroyed = 0;
  CUgraph graph = NULL;
  CUuserObject object;
  CUstream held_up;
  MUST(cuStreamCreate(&held_up, NON_BLOCKING));
  begin(a);
  MUST(cuMemsetD8Async(pinned, 1, 64, a));
  MUST(cuStreamEndCapture(a, &graph));
  MUST(cuUserObjectCreate(&object, &destroyed, destroy, 1, 1));
  MUST(cuGraphRetainUserObject(graph, object, 1, 1));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));
  RACES(0, MUST(cuLaunchHostFunc(held_up, wait_at_gate, (void *)50)); MUST(cuGraphLaunch(exec, a));
        MUST(cuGraphExecDestroy(exec)); wait_for(held_up, a);
        MUST_BE(cuStreamQuery(held_up), NOT_READY); MUST_BE(cuStreamQuery(held_up), NOT_READY);
        while (!__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST)) usleep(100);
        MUST(cuMemsetD8Async(pinned, 2, 64, b)););

  // A pool's block has no past, and its own races.
  CUdeviceptr block = 0;
  RACES(0, MUST(cuMemAllocAsync(&block, 4096, a)); MUST(cuMemsetD8Async(block, 1, 64, a));
        MUST(cuMemFreeAsync(block, a)); MUST(cuMemAllocAsync(&later, 4096, b));
        MUST(cuMemsetD8Async(later, 1, 64, b)); MUST(cuMemFreeAsync(later, b)););
  MUST_BE(later, block);
  RACES(1, MUST(cuMemAllocAsync(&later, 4096, b)); MUST(cuMemsetD8Async(later, 1, 64, a));
        wait_for(b, a); MUST(cuMemFreeAsync(later, b)););
  MUST_BE(later, block);
  return 0;
}
