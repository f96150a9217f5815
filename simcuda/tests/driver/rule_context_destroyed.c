// SPDX-License-Identifier: BSD-3-Clause
// Rule: What was made in a destroyed context is refused, and the memory is no longer known.
// Source: assumed; to be checked on a GPU
#include "attributes.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  USE(cuCtxPushCurrent, 4000, CUcontext);
  USE(cuCtxGetId, 12000, CUcontext, unsigned long long *);
  CUcontext context;
  unsigned long long id = 0;
  CUstream stream;
  CUevent event;
  CUdeviceptr data;
  Attributes attributes;
  MUST(cuCtxCreate(&context, 0, 0));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&data, 1));
  MUST(cuCtxDestroy(context));
  FOUND_STATUS("attributes of its memory", get_attributes(data, &attributes), SUCCESS);
  FOUND("the memory is known", attributes.of[MEMORY_TYPE] != NO_MEMORY, 0);
  // Its streams crash a real driver.
  FOUND_STATUS("cuEventQuery", cuEventQuery(event), CONTEXT_IS_DESTROYED);
  FOUND_STATUS("cuEventDestroy", cuEventDestroy(event), CONTEXT_IS_DESTROYED);
  FOUND_STATUS("cuCtxGetId", cuCtxGetId(context, &id), CONTEXT_IS_DESTROYED);
  FOUND_STATUS("cuCtxPushCurrent", cuCtxPushCurrent(context), SUCCESS);
  FOUND_STATUS("a call then", cuMemAlloc(&data, 1), CONTEXT_IS_DESTROYED);
  return 0;
}
