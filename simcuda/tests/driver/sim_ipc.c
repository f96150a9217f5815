// SPDX-License-Identifier: BSD-3-Clause
// Between processes, too, a wait that is missing shows as a wrong value, and work of a process that
// has ended is waited for by nobody.
#include "simcuda.h"

#include "processes.h"

enum { SIZE = 8192, ROUNDS = 100 };

typedef struct {
  IpcHandle memory, event;
} Shared;

static void make(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  USE_IPC;
  FIND_SIM(simcuda_busy);
  FIND_SIM(simcuda_pending);
  Shared shared;
  CUdeviceptr data;
  CUevent event;
  CUstream stream;
  const unsigned char before = 1;
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuMemcpyHtoD(data, &before, 1));
  MUST(cuStreamSynchronize(LEGACY));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetEventHandle(&shared.event, event));
  MUST(cuMemsetD8Async(data, 2, SIZE, stream));
  MUST(cuEventRecord(event, stream));
  tell(TALK, &shared, sizeof shared);
  hear_ready(TALK);
  MUST_BE(simcuda_pending(), 0);  // the other one's wait got it done
  // More records than can be under way at once.
  for (int i = 0; i < ROUNDS; ++i) {
    MUST(cuMemsetD8Async(data, (unsigned char)i, SIZE, stream));
    MUST(cuEventRecord(event, stream));
  }
  tell_ready(TALK);
  hear_ready(TALK);
  // A record that never comes about.
  MUST(simcuda_busy(stream, 1000000000000));
  MUST(cuEventRecord(event, stream));
  tell_ready(TALK);
  hear_ready(TALK);
}

int main(int count, char **arguments) {
  (void)arguments;
  start();
  if (count > 1) return make(), 1;
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  USE_IPC;
  Shared shared;
  CUdeviceptr data;
  CUevent event;
  CUstream stream;
  unsigned char byte = 0;
  const Process other = start_other("makes");
  hear(other.talk, &shared, sizeof shared);
  MUST(cuIpcOpenMemHandle(&data, shared.memory, PEERS));
  MUST(cuIpcOpenEventHandle(&event, shared.event));
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 1);  // nobody waited
  MUST(cuStreamWaitEvent(stream, event, 0));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, 2);
  tell_ready(other.talk);
  hear_ready(other.talk);
  MUST(cuEventSynchronize(event));
  MUST(cuMemcpyDtoH(&byte, data, 1));
  MUST_BE(byte, ROUNDS - 1);
  tell_ready(other.talk);
  hear_ready(other.talk);
  MUST_BE(cuEventQuery(event), NOT_READY);
  MUST(cuStreamWaitEvent(stream, event, 0));
  kill_other(&other);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH(&byte, data, 1));  // what is mapped stays
  MUST(cuIpcCloseMemHandle(data));
  return 0;
}
