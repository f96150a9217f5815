// SPDX-License-Identifier: BSD-3-Clause
// Where races are not looked for, everything else is as it was: order, host functions, frees and
// events between processes; and there are no marks of work.
#include "simcuda.h"

#include "processes.h"

enum { SIZE = 4096 };

static int calls;

static void count_call(void *unused) {
  (void)unused;
  ++calls;
}

static void check_process(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_POOLS;
  USE_GRAPHS;
  USE(cuLaunchHostFunc, 10000, CUstream, void (*)(void *), void *);
  USE(cuStreamBeginCapture, 10010, CUstream, int);
  USE(cuStreamEndCapture, 10000, CUstream, CUgraph *);
  USE(cuUserObjectCreate, 11030, CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
  USE(cuGraphRetainUserObject, 11030, CUgraph, CUuserObject, unsigned, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  FIND_SIM(simcuda_races);
  FIND_SIM(simcuda_last_work);
  FIND_SIM(simcuda_ordered);
  FIND_SIM(simcuda_host_access);
  FIND_SIM(simcuda_reset);
  unsigned char bytes[SIZE] = {0};
  CUdeviceptr data, pooled;
  CUstream streams[2];
  CUgraph graph = NULL;
  CUgraphExec exec;
  CUuserObject object;
  void *host;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemHostAlloc(&host, SIZE, 0));
  for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&streams[i], 0));
  for (int i = 0; i < 2; ++i) MUST(cuMemsetD8Async(data, (unsigned char)i, SIZE, streams[i]));
  MUST(simcuda_host_access(host, SIZE, 1));
  MUST_BE(simcuda_races(), 0);
  MUST_BE(simcuda_last_work(), 0);
  MUST_BE(simcuda_ordered(1, 2), -1);
  MUST(cuMemcpyHtoD(data, bytes, SIZE));
  MUST(cuLaunchHostFunc(streams[0], count_call, NULL));
  MUST(cuStreamSynchronize(streams[0]));
  MUST_BE(calls, 1);
  // A stream that is destroyed and done, before another is created.
  MUST(cuStreamDestroy(streams[1]));
  MUST(cuStreamCreate(&streams[1], 0));

  MUST(cuMemAllocAsync(&pooled, SIZE, streams[0]));
  MUST(cuMemFreeAsync(pooled, streams[0]));
  MUST_BE(cuMemsetD8Async(pooled, 1, 1, streams[0]), INVALID_VALUE);
  MUST(cuStreamSynchronize(streams[0]));

  MUST(cuStreamBeginCapture(streams[0], 2));
  MUST(cuLaunchHostFunc(streams[0], count_call, NULL));
  MUST(cuStreamEndCapture(streams[0], &graph));
  MUST(cuUserObjectCreate(&object, NULL, count_call, 1, 1));
  MUST(cuGraphRetainUserObject(graph, object, 1, 1));
  for (int i = 0; i < 2; ++i) {
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphLaunch(exec, streams[0]));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuStreamSynchronize(streams[0]));
    MUST_BE(calls, 2 + i);
  }
  MUST(cuGraphDestroy(graph));
  simcuda_reset();
  MUST(cuMemFree(data));
  MUST_BE(cuMemFree(data), INVALID_VALUE);
  for (int i = 0; i < 2; ++i) MUST(cuStreamDestroy(streams[i]));
}

typedef struct {
  IpcHandle memory, first, second;
} Shared;

// Passes on what comes after the first event, by the second one.
static void pass_on(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_IPC;
  Shared shared;
  CUdeviceptr data;
  CUevent first, second;
  hear(TALK, &shared, sizeof shared);
  MUST(cuIpcOpenMemHandle(&data, shared.memory, PEERS));
  MUST(cuIpcOpenEventHandle(&first, shared.first));
  MUST(cuEventCreate(&second, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetEventHandle(&shared.second, second));
  MUST(cuStreamWaitEvent(LEGACY, first, 0));
  MUST(cuMemsetD8Async(data + 1, 7, 1, LEGACY));
  MUST(cuEventRecord(second, LEGACY));
  tell(TALK, &shared, sizeof shared);
  hear_ready(TALK);
}

static void check_processes(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_IPC;
  Shared shared;
  unsigned char bytes[2] = {0, 0};
  CUdeviceptr data;
  CUevent first, second;
  CUstream stream;
  const Process other = start_other("passes on");
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuEventCreate(&first, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetEventHandle(&shared.first, first));
  MUST(cuMemsetD8Async(data, 6, 2, LEGACY));
  MUST(cuEventRecord(first, LEGACY));
  tell(other.talk, &shared, sizeof shared);
  hear(other.talk, &shared, sizeof shared);
  MUST(cuIpcOpenEventHandle(&second, shared.second));
  MUST(cuStreamWaitEvent(stream, second, 0));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(bytes, data, 2));
  MUST_BE(bytes[0] == 6 && bytes[1] == 7, 1);
  tell_ready(other.talk);
  join_other(&other);
}

int main(int count, char **arguments) {
  (void)arguments;
  setenv("SIMCUDA_RACES", "off", 1);
  start();
  if (count > 1) return pass_on(), 0;
  check_process();
  check_processes();
  return 0;
}
