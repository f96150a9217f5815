// SPDX-License-Identifier: BSD-3-Clause
// A busy stream delays what follows, however often it is queried, until a call waits for it.
#include "simcuda.h"

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
  MUST(cuMemAlloc(&data, 2));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuStreamCreate(&other, NON_BLOCKING));
  MUST(cuEventCreate(&before, 0));
  MUST(cuEventCreate(&after, 0));
  MUST(cuEventRecord(before, stream));
  MUST(simcuda_busy(stream, MILLISECONDS * 1000000ull));
  MUST(cuMemsetD8Async(data, 1, 1, stream));
  MUST(cuEventRecord(after, stream));
  MUST(cuMemsetD8Async(data + 1, 1, 1, other));
  MUST(cuStreamSynchronize(other));  // waits for nothing there
  while (cuEventQuery(after) == NOT_READY && queries < 1000) ++queries;
  MUST_BE(queries >= MILLISECONDS, 1);
  MUST_BE(queries < 1000, 1);
  MUST(cuEventElapsedTime(&elapsed, before, after));
  MUST_BE(elapsed >= MILLISECONDS && elapsed < MILLISECONDS + 1, 1);

  MUST(simcuda_busy(stream, 3600ull * 1000000000ull));
  MUST_BE(simcuda_pending() > 0, 1);
  for (int i = 0; i < 100; ++i) MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST(cuStreamSynchronize(stream));
  MUST(cuStreamQuery(stream));
  MUST_BE(simcuda_busy((void *)99, 1), INVALID_HANDLE);

  MUST(cuStreamBeginCapture(stream, GLOBAL));
  MUST(simcuda_busy(stream, 3600ull * 1000000000ull));
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphLaunch(exec, stream));
  for (int i = 0; i < 100; ++i) MUST_BE(cuStreamQuery(stream), NOT_READY);
  MUST(cuStreamSynchronize(stream));
  return 0;
}
