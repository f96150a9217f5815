// SPDX-License-Identifier: BSD-3-Clause
// Between processes, too, a wait that is missing shows as a wrong value, and work of a process that
// has ended is waited for by nobody.
#include "../../simcuda/simcuda.h"

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
  OK(cuMemAlloc(&data, SIZE));
  OK(cuMemcpyHtoD(data, &before, 1));
  OK(cuStreamSynchronize(LEGACY));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuEventCreate(&event, INTERPROCESS | DISABLE_TIMING));
  OK(cuIpcGetMemHandle(&shared.memory, data));
  OK(cuIpcGetEventHandle(&shared.event, event));
  OK(cuMemsetD8Async(data, 2, SIZE, stream));
  OK(cuEventRecord(event, stream));
  tell(TALK, &shared, sizeof shared);
  hear_ready(TALK);
  EXPECT(simcuda_pending(), 0);  // the other one's wait got it done
  // More records than can be under way at once.
  for (int i = 0; i < ROUNDS; ++i) {
    OK(cuMemsetD8Async(data, (unsigned char)i, SIZE, stream));
    OK(cuEventRecord(event, stream));
  }
  tell_ready(TALK);
  hear_ready(TALK);
  // A record that never comes about.
  OK(simcuda_busy(stream, 1000000000000));
  OK(cuEventRecord(event, stream));
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
  OK(cuIpcOpenMemHandle(&data, shared.memory, PEERS));
  OK(cuIpcOpenEventHandle(&event, shared.event));
  OK(cuStreamCreate(&stream, NON_BLOCKING));
  OK(cuMemcpyDtoH(&byte, data, 1));
  EXPECT(byte, 1);  // nobody waited
  OK(cuStreamWaitEvent(stream, event, 0));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&byte, data, 1));
  EXPECT(byte, 2);
  tell_ready(other.talk);
  hear_ready(other.talk);
  OK(cuEventSynchronize(event));
  OK(cuMemcpyDtoH(&byte, data, 1));
  EXPECT(byte, ROUNDS - 1);
  tell_ready(other.talk);
  hear_ready(other.talk);
  EXPECT(cuEventQuery(event), NOT_READY);
  OK(cuStreamWaitEvent(stream, event, 0));
  kill_other(&other);
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(&byte, data, 1));  // what is mapped stays
  OK(cuIpcCloseMemHandle(data));
  return 0;
}
