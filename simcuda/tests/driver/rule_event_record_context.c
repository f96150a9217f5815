// SPDX-License-Identifier: BSD-3-Clause
// Rule: An event is recorded only in a stream of its own context.
// Source: cuda.h, cuEventRecord; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  CUcontext second;
  CUstream there;
  CUevent event;
  MUST(cuEventCreate(&event, 2));
  MUST(cuCtxCreate(&second, 0, 0));
  MUST(cuStreamCreate(&there, NON_BLOCKING));
  FOUND_STATUS("cuEventRecord in a stream of another context", cuEventRecord(event, there),
               INVALID_HANDLE);
  FOUND_STATUS("cuEventRecord in another context's legacy stream", cuEventRecord(event, LEGACY),
               INVALID_HANDLE);
  return 0;
}
