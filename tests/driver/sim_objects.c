// SPDX-License-Identifier: BSD-3-Clause
// What a client has made and not ended is counted, so that a test finds what was lost.
#include "../../simcuda/simcuda.h"

#include "driver_test.h"

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
  return 0;
}
