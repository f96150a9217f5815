// SPDX-License-Identifier: BSD-3-Clause
// Rule: Calls on the handle of a stream or an event need no current context, and so work on a
// stream by its handle, and a free; what makes anything does.
// Source: assumed; to be checked on a GPU
#include "driver_test.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSetCurrent, 4000, CUcontext);
  CUstream stream, other;
  CUevent event;
  CUdeviceptr data, more;
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 2));
  MUST(cuCtxSetCurrent(NULL));
  FOUND_STATUS("cuEventRecord", cuEventRecord(event, stream), SUCCESS);
  FOUND_STATUS("cuStreamWaitEvent", cuStreamWaitEvent(stream, event, 0), SUCCESS);
  FOUND_STATUS("cuStreamSynchronize", cuStreamSynchronize(stream), SUCCESS);
  FOUND_STATUS("cuEventSynchronize", cuEventSynchronize(event), SUCCESS);
  FOUND_STATUS("cuEventQuery", cuEventQuery(event), SUCCESS);
  FOUND_STATUS("cuMemsetD8Async", cuMemsetD8Async(data, 1, 1, stream), SUCCESS);
  FOUND_STATUS("cuMemcpyDtoDAsync", cuMemcpyDtoDAsync(data, data + 1, 1, stream), SUCCESS);
  FOUND_STATUS("cuStreamCreate", cuStreamCreate(&other, 0), INVALID_CONTEXT);
  FOUND_STATUS("cuMemAlloc", cuMemAlloc(&more, 1), INVALID_CONTEXT);
  FOUND_STATUS("cuMemsetD8Async on the legacy stream", cuMemsetD8Async(data, 1, 1, LEGACY),
               INVALID_CONTEXT);
  FOUND_STATUS("cuMemcpyHtoD", cuMemcpyHtoD(data, &more, 1), INVALID_CONTEXT);
  FOUND_STATUS("cuMemFree", cuMemFree(data), SUCCESS);
  FOUND_STATUS("cuStreamDestroy", cuStreamDestroy(stream), SUCCESS);
  FOUND_STATUS("cuEventDestroy", cuEventDestroy(event), SUCCESS);
  return 0;
}
