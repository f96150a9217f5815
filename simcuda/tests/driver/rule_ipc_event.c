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
  MUST(cuIpcOpenMemHandle(&theirs, shared.memory, PEERS));
  MUST(cuIpcOpenEventHandle(&event, shared.event));
  MUST(cuMemAlloc(&mine, SIZE));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (int i = 0; i < ROUNDS; ++i) {
    hear_ready(TALK);
    MUST(cuStreamWaitEvent(stream, event, 0));
    MUST(cuMemcpyDtoDAsync(mine, theirs, SIZE, stream));
    MUST(cuMemsetD8Async(theirs, (unsigned char)(100 + i), SIZE, stream));
    MUST(cuEventRecord(event, stream));
    tell_ready(TALK);
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(&byte, mine + SIZE - 1, 1));
    MUST_BE(byte, i);
  }
  hear_ready(TALK);  // nothing uses the event any more
  MUST(cuEventDestroy(event));
  MUST(cuIpcCloseMemHandle(theirs));
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
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemAlloc(&kept, SIZE));
  MUST(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetEventHandle(&shared.event, event));
  MUST(cuEventQuery(event));  // nothing has been recorded
  tell(other.talk, &shared, sizeof shared);
  for (int i = 0; i < ROUNDS; ++i) {
    MUST(cuMemsetD8Async(data, (unsigned char)i, SIZE, stream));
    MUST(cuEventRecord(event, stream));
    tell_ready(other.talk);
    hear_ready(other.talk);  // the other has recorded it, and need not be done
    if (i % 3 == 0)
      MUST(cuEventSynchronize(event));
    else if (i % 3 == 1)
      while (cuEventQuery(event) != SUCCESS) usleep(100);
    else
      MUST(cuStreamWaitEvent(stream, event, 0));
    MUST(cuMemcpyDtoDAsync(kept, data, SIZE, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(&byte, kept + SIZE - 1, 1));
    MUST_BE(byte, 100 + i);
  }
  tell_ready(other.talk);
  join_other(&other);
  MUST(cuEventDestroy(event));
  return 0;
}
