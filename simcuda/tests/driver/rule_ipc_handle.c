// SPDX-License-Identifier: BSD-3-Clause
// Rule: Which memory and which events have a handle for other processes, and what becomes of it in
// the process that made it.
// Source: cuda.h, cuIpcGetMemHandle; the statuses are assumed; to be checked on a GPU
#include "processes.h"

int main(void) {
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_IPC;
  USE(cuMemAllocAsync, 11020, CUdeviceptr *, size_t, CUstream);
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  USE(cuMemHostAlloc, 2020, void **, size_t, unsigned);
  CUdeviceptr device, pooled, managed, opened;
  void *pinned;
  CUevent shared, timed;
  IpcHandle handle, inside, event;
  MUST(cuMemAlloc(&device, 64));
  MUST(cuMemAllocAsync(&pooled, 64, LEGACY));
  MUST(cuMemAllocManaged(&managed, 64, 1));
  MUST(cuMemHostAlloc(&pinned, 64, 0));
  MUST(cuEventCreate(&shared, INTERPROCESS | DISABLE_TIMING));
  MUST(cuEventCreate(&timed, 0));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuIpcGetMemHandle(&handle, device));
  FOUND_STATUS("not from its base", cuIpcGetMemHandle(&inside, device + 8), SUCCESS);
  FOUND("which gives the handle of the whole", memcmp(&handle, &inside, sizeof handle) == 0, 1);
  FOUND_STATUS("pool memory", cuIpcGetMemHandle(&handle, pooled), INVALID_VALUE);
  FOUND_STATUS("managed memory", cuIpcGetMemHandle(&handle, managed), INVALID_VALUE);
  FOUND_STATUS("pinned memory", cuIpcGetMemHandle(&handle, (CUdeviceptr)(uintptr_t)pinned),
               INVALID_VALUE);
  FOUND_STATUS("no memory", cuIpcGetMemHandle(&handle, 64), INVALID_VALUE);
  FOUND_STATUS("opened where it was made", cuIpcOpenMemHandle(&opened, handle, PEERS),
               INVALID_CONTEXT);
  FOUND_STATUS("closed, though never opened", cuIpcCloseMemHandle(device), INVALID_VALUE);
  FOUND_STATUS("an event with timing", cuIpcGetEventHandle(&event, timed), INVALID_HANDLE);
  MUST(cuIpcGetEventHandle(&event, shared));
  FOUND_STATUS("an event opened where it was made", cuIpcOpenEventHandle(&timed, event),
               INVALID_CONTEXT);
  MUST(cuMemFree(device));
  FOUND_STATUS("freed memory", cuIpcGetMemHandle(&handle, device), INVALID_VALUE);
  return 0;
}
