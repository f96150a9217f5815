// SPDX-License-Identifier: BSD-3-Clause
// A busy stream keeps what follows late, however often one asks, until somebody waits.
#include "../../simcuda/simcuda.h"

#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_CAPTURE;
  USE_GRAPHS;
  USE(cuEventElapsedTime, 2000, float *, CUevent, CUevent);
  FIND_SIM(simcuda_busy);
  FIND_SIM(simcuda_pending);
  enum { MILLISECONDS = 20 };
  CUstream stream, other;
  CUevent before, after;
  CUdeviceptr data;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  float elapsed = 0;
  int queries = 1;
  OK(cuMemAlloc(&data, 2));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuStreamCreate(&other, NON_BLOCKING));
  OK(cuEventCreate(&before, 0));
  OK(cuEventCreate(&after, 0));
  OK(cuEventRecord(before, stream));
  OK(simcuda_busy(stream, MILLISECONDS * 1000000ull));
  OK(cuMemsetD8Async(data, 1, 1, stream));
  OK(cuEventRecord(after, stream));
  OK(cuMemsetD8Async(data + 1, 1, 1, other));
  OK(cuStreamSynchronize(other));  // waits for nothing there
  while (cuEventQuery(after) == NOT_READY && queries < 1000) ++queries;
  EXPECT(queries >= MILLISECONDS, 1);
  EXPECT(queries < 1000, 1);
  OK(cuEventElapsedTime(&elapsed, before, after));
  EXPECT(elapsed >= MILLISECONDS && elapsed < MILLISECONDS + 1, 1);

  OK(simcuda_busy(stream, 3600ull * 1000000000ull));
  EXPECT(simcuda_pending() > 0, 1);
  for (int i = 0; i < 100; ++i) EXPECT(cuStreamQuery(stream), NOT_READY);
  OK(cuStreamSynchronize(stream));
  OK(cuStreamQuery(stream));
  EXPECT(simcuda_busy((void *)99, 1), INVALID_HANDLE);

  OK(cuStreamBeginCapture(stream, GLOBAL));
  OK(simcuda_busy(stream, 3600ull * 1000000000ull));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, stream));
  for (int i = 0; i < 100; ++i) EXPECT(cuStreamQuery(stream), NOT_READY);
  OK(cuStreamSynchronize(stream));
  return 0;
}
