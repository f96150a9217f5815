// SPDX-License-Identifier: BSD-3-Clause
// What was freed or destroyed by the process that shared it is refused where it is open, and not a
// crash; nothing is left behind, and memory counts in the process that allocated it only.
#include "processes.h"

enum { SIZE = 1 << 20 };

typedef struct {
  IpcHandle memory, event;
} Shared;

static void make(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_IPC;
  USE(cuDeviceGetByPCIBusId, 4010, CUdevice *, const char *);
  Shared shared;
  CUdeviceptr data, next;
  CUevent event;
  CUdevice device = -1;
  MUST(cuDeviceGetByPCIBusId(&device, "0000:02:00.0"));
  MUST_BE(device, 0);  // here
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetEventHandle(&shared.event, event));
  tell(TALK, &shared, sizeof shared);
  hear_ready(TALK);
  MUST(cuMemFree(data));
  MUST(cuEventDestroy(event));
  MUST(cuMemAlloc(&next, SIZE));
  MUST(cuIpcGetMemHandle(&shared.memory, next));
  tell(TALK, &shared, sizeof shared);
  hear_ready(TALK);
}

static int mappings(void) {
  char line[512];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) found += strstr(line, "memfd:simcuda") != NULL;
  fclose(maps);
  return found;
}

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  start();
  if (count > 1) return make(), 0;
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  USE_IPC;
  USE(cuMemGetInfo, 3020, size_t *, size_t *);
  USE(cuPointerGetAttribute, 4000, void *, int, CUdeviceptr);
  USE(cuDevicePrimaryCtxReset, 11000, CUdevice);
  USE(cuDevicePrimaryCtxRetain, 7000, CUcontext *, CUdevice);
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  enum { DEVICE_ORDINAL = 9 };
  Shared first, second;
  CUdeviceptr data, again;
  CUevent event;
  CUcontext context;
  size_t before = 0, now = 0, total = 0;
  int ordinal = -1;
  unsigned char byte;
  const Process other = start_other("makes");
  MUST(cuMemGetInfo(&before, &total));
  hear(other.talk, &first, sizeof first);
  const int mapped = mappings();
  MUST(cuIpcOpenMemHandle(&data, first.memory, PEERS));
  MUST(cuIpcOpenEventHandle(&event, first.event));
  MUST(cuMemGetInfo(&now, &total));
  MUST_BE(now, before);
  MUST(cuPointerGetAttribute(&ordinal, DEVICE_ORDINAL, data));
  MUST_BE(ordinal, 1);  // the same device, by another number
  // One context of a device opens handles of one process.
  MUST(cuCtxCreate(&context, 0, 0));
  MUST_BE(cuIpcOpenMemHandle(&again, first.memory, PEERS), INVALID_CONTEXT);
  MUST_BE(cuIpcCloseMemHandle(data), INVALID_VALUE);
  MUST(cuCtxDestroy(context));
  tell_ready(other.talk);
  hear(other.talk, &second, sizeof second);
  MUST_BE(memcmp(&first.memory, &second.memory, sizeof first.memory) != 0, 1);
  MUST_BE(cuMemcpyDtoH(&byte, data, 1), INVALID_VALUE);
  MUST_BE(cuMemsetD8Async(data, 1, 1, LEGACY), INVALID_VALUE);
  MUST_BE(cuStreamWaitEvent(LEGACY, event, 0), INVALID_HANDLE);
  MUST_BE(cuEventRecord(event, LEGACY), INVALID_HANDLE);
  MUST_BE(cuEventQuery(event), INVALID_HANDLE);
  MUST(cuEventDestroy(event));
  MUST(cuIpcCloseMemHandle(data));
  for (int i = 0; i < 100; ++i) {
    MUST(cuIpcOpenMemHandle(&data, second.memory, PEERS));
    MUST(cuMemsetD8Async(data, 1, SIZE, LEGACY));
    MUST(cuIpcCloseMemHandle(data));  // waits for it
  }
  MUST_BE(mappings() <= mapped + 3, 1);  // the board, and where other protections meet
  // A context takes what it opened with it.
  MUST(cuIpcOpenMemHandle(&data, second.memory, PEERS));
  MUST(cuDevicePrimaryCtxReset(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST_BE(cuMemcpyDtoH(&byte, data, 1), INVALID_VALUE);
  MUST_BE(cuIpcCloseMemHandle(data), INVALID_VALUE);
  MUST(cuIpcOpenMemHandle(&data, second.memory, PEERS));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 1);
  tell_ready(other.talk);
  join_other(&other);
  return 0;
}
