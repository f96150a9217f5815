// SPDX-License-Identifier: BSD-3-Clause
// Rule: What comes of handles that name nothing, or nothing any more.
// Source: assumed; to be checked on a GPU
#include "processes.h"

static void make_handles(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_IPC;
  CUdeviceptr kept, freed;
  CUevent event;
  IpcHandle handles[3];
  MUST(cuMemAlloc(&kept, 4096));
  MUST(cuMemAlloc(&freed, 4096));
  MUST(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetMemHandle(&handles[0], kept));
  MUST(cuIpcGetMemHandle(&handles[1], freed));
  MUST(cuIpcGetEventHandle(&handles[2], event));
  MUST(cuMemFree(freed));
  tell(TALK, handles, sizeof handles);
  hear_ready(TALK);  // never: this process is killed
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return make_handles(), 1;
  USE_MEMORY;
  USE_IPC;
  IpcHandle handles[3], nothing;
  CUdeviceptr data;
  CUevent event;
  const Process other = start_other("is killed");
  hear(other.talk, handles, sizeof handles);
  memset(&nothing, 0xA5, sizeof nothing);
  FOUND_STATUS("no handle", cuIpcOpenMemHandle(&data, nothing, PEERS), INVALID_HANDLE);
  FOUND_STATUS("no event's handle", cuIpcOpenEventHandle(&event, nothing), INVALID_HANDLE);
  FOUND_STATUS("no flags", cuIpcOpenMemHandle(&data, handles[0], 0), INVALID_VALUE);
  FOUND_STATUS("freed memory", cuIpcOpenMemHandle(&data, handles[1], PEERS), INVALID_HANDLE);
  MUST(cuIpcOpenMemHandle(&data, handles[0], PEERS));
  FOUND_STATUS("cuMemFree of what was opened", cuMemFree(data), INVALID_VALUE);
  FOUND_STATUS("a handle of what was opened", cuIpcGetMemHandle(&nothing, data), INVALID_VALUE);
  MUST(cuIpcCloseMemHandle(data));
  FOUND_STATUS("closed once too often", cuIpcCloseMemHandle(data), INVALID_VALUE);
  kill_other(&other);
  FOUND_STATUS("memory of a dead process", cuIpcOpenMemHandle(&data, handles[0], PEERS),
               INVALID_HANDLE);
  FOUND_STATUS("an event of a dead process", cuIpcOpenEventHandle(&event, handles[2]),
               INVALID_HANDLE);
  return 0;
}
