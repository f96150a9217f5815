// SPDX-License-Identifier: BSD-3-Clause
// Rule: What comes of handles that name nothing, or nothing any more.
// Source: assumed; to be checked on a GPU
#include "processes.h"

// Each of them has pages of its own: what shares them may be opened as long as any of it is there.
enum { SIZE = 4 << 20, MAP_FAILED = 205 };

static void make_handles(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_IPC;
  CUdeviceptr kept, freed;
  CUevent event;
  IpcHandle handles[3];
  MUST(cuMemAlloc(&kept, SIZE));
  MUST(cuMemAlloc(&freed, SIZE));
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
  CUresult opened;
  const Process other = start_other("is killed");
  hear(other.talk, handles, sizeof handles);
  memset(&nothing, 0xA5, sizeof nothing);
  FOUND_STATUS("no handle", cuIpcOpenMemHandle(&data, nothing, PEERS), INVALID_VALUE);
  FOUND_STATUS("no event's handle", cuIpcOpenEventHandle(&event, nothing), MAP_FAILED);
  FOUND_STATUS("no flags", cuIpcOpenMemHandle(&data, handles[0], 0), INVALID_VALUE);
  FOUND_STATUS("freed memory", opened = cuIpcOpenMemHandle(&data, handles[1], PEERS),
               INVALID_VALUE);
  if (opened == SUCCESS) MUST(cuIpcCloseMemHandle(data));
  MUST(cuIpcOpenMemHandle(&data, handles[0], PEERS));
  FOUND_STATUS("cuMemFree of what was opened", cuMemFree(data), INVALID_VALUE);
  FOUND_STATUS("a handle of what was opened", cuIpcGetMemHandle(&nothing, data), INVALID_VALUE);
  MUST(cuIpcCloseMemHandle(data));
  FOUND_STATUS("closed once too often", cuIpcCloseMemHandle(data), INVALID_VALUE);
  kill_other(&other);
  FOUND_STATUS("memory of a dead process", cuIpcOpenMemHandle(&data, handles[0], PEERS),
               INVALID_HANDLE);
  FOUND_STATUS("an event of a dead process", cuIpcOpenEventHandle(&event, handles[2]), SUCCESS);
  return 0;
}
