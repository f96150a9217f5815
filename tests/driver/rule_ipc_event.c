// SPDX-License-Identifier: BSD-3-Clause
// Rule: A stream, or the host, that waits for another process's event comes after the work that the
// event was recorded behind, whichever of both recorded it.
// Source: cuda.h, cuIpcGetEventHandle and cuIpcOpenEventHandle
#include "processes.h"

enum { SIZE = 1 << 20, ROUNDS = 80 };

typedef struct {
  IpcHandle memory, event;
} Shared;

static void other_side(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_IPC;
  Shared shared;
  CUdeviceptr theirs, mine;
  CUevent event;
  CUstream stream;
  unsigned char byte = 0;
  hear(TALK, &shared, sizeof shared);
  OK(cuIpcOpenMemHandle(&theirs, shared.memory, PEERS));
  OK(cuIpcOpenEventHandle(&event, shared.event));
  OK(cuMemAlloc(&mine, SIZE));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < ROUNDS; ++i) {
    hear_ready(TALK);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoDAsync(mine, theirs, SIZE, stream));
    OK(cuMemsetD8Async(theirs, (unsigned char)(100 + i), SIZE, stream));
    OK(cuEventRecord(event, stream));
    tell_ready(TALK);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&byte, mine + SIZE - 1, 1));
    EXPECT(byte, i);
  }
  hear_ready(TALK);  // nothing uses the event any more
  OK(cuEventDestroy(event));
  OK(cuIpcCloseMemHandle(theirs));
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return other_side(), 0;
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE_IPC;
  Shared shared;
  CUdeviceptr data, kept;
  CUevent event;
  CUstream stream;
  unsigned char byte = 0;
  const Process other = start_other("waits");
  OK(cuMemAlloc(&data, SIZE));
  OK(cuMemAlloc(&kept, SIZE));
  OK(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuIpcGetMemHandle(&shared.memory, data));
  OK(cuIpcGetEventHandle(&shared.event, event));
  OK(cuEventQuery(event));  // nothing has been recorded
  tell(other.talk, &shared, sizeof shared);
  for (int i = 0; i < ROUNDS; ++i) {
    OK(cuMemsetD8Async(data, (unsigned char)i, SIZE, stream));
    OK(cuEventRecord(event, stream));
    tell_ready(other.talk);
    hear_ready(other.talk);  // the other has recorded it, and need not be done
    if (i % 3 == 0)
      OK(cuEventSynchronize(event));
    else if (i % 3 == 1)
      while (cuEventQuery(event) != SUCCESS) usleep(100);
    else
      OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuMemcpyDtoDAsync(kept, data, SIZE, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&byte, kept + SIZE - 1, 1));
    EXPECT(byte, 100 + i);
  }
  tell_ready(other.talk);
  join_other(&other);
  OK(cuEventDestroy(event));
  return 0;
}
