// SPDX-License-Identifier: BSD-3-Clause
// Each process looks for its own races. Work that is in order by way of another process is never
// taken for a race, nor what was waited for there.
#include "processes.h"
#include "race_test.h"

enum { SIZE = 4096 };

typedef struct {
  IpcHandle memory, mine, theirs;
} Shared;

// What the other process does at each turn: passes the order on by a stream, by its host, or not.
static void pass_on(void) {
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  USE_IPC;
  Shared shared;
  CUdeviceptr data;
  CUevent theirs, mine;
  CUstream stream;
  hear(TALK, &shared, sizeof shared);
  MUST(cuIpcOpenMemHandle(&data, shared.memory, PEERS));
  MUST(cuIpcOpenEventHandle(&theirs, shared.mine));
  MUST(cuEventCreate(&mine, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetEventHandle(&shared.theirs, mine));
  tell(TALK, &shared, sizeof shared);
  MUST(cuStreamCreate(&stream, NON_BLOCKING));
  for (;;) {
    char turn = 0;
    hear(TALK, &turn, 1);
    if (turn == 'e') break;
    if (turn == 's' || turn == 'h') MUST(cuStreamWaitEvent(stream, theirs, 0));
    MUST(cuMemsetD8Async(data, 3, SIZE, stream));
    MUST(cuEventRecord(mine, stream));
    if (turn == 'h') MUST(cuStreamSynchronize(stream));
    tell_ready(TALK);
  }
  MUST_BE(sim.races(), 0);
}

int main(int count, char **arguments) {
  (void)arguments;
  start_races();
  if (count > 1) return pass_on(), 0;
  USE_MEMORY;
  USE_EVENTS;
  USE_STREAMS;
  USE_IPC;
  Shared shared;
  CUdeviceptr data;
  CUevent mine, theirs;
  CUstream one, two;
  const Process other = start_other("passes on");
  MUST(cuMemAlloc(&data, SIZE));
  MUST(cuEventCreate(&mine, INTERPROCESS | DISABLE_TIMING));
  MUST(cuIpcGetMemHandle(&shared.memory, data));
  MUST(cuIpcGetEventHandle(&shared.mine, mine));
  tell(other.talk, &shared, sizeof shared);
  hear(other.talk, &shared, sizeof shared);
  MUST(cuIpcOpenEventHandle(&theirs, shared.theirs));
  MUST(cuStreamCreate(&one, NON_BLOCKING));
  MUST(cuStreamCreate(&two, NON_BLOCKING));

#define TURN(how)                 \
  MUST(cuEventRecord(mine, one)); \
  tell(other.talk, how, 1);       \
  hear_ready(other.talk)

  // From one stream to the other by way of the other process's stream,
  RACES(0, MUST(cuMemsetD8Async(data, 1, SIZE, one)); TURN("s");
        MUST(cuStreamWaitEvent(two, theirs, 0)); MUST(cuMemsetD8Async(data, 2, SIZE, two)););
  // its host, and a message from it.
  RACES(0, MUST(cuMemsetD8Async(data, 1, SIZE, one)); TURN("h");
        MUST(cuMemsetD8Async(data, 2, SIZE, two)););
  // This host has waited for what comes after it.
  RACES(0, MUST(cuMemsetD8Async(data, 1, SIZE, one)); TURN("s"); MUST(cuEventSynchronize(theirs));
        MUST(cuMemsetD8Async(data, 2, SIZE, two)););
  // The other one did not wait, so that nothing is in order,
  RACES(1, MUST(cuMemsetD8Async(data, 1, SIZE, one)); TURN("n");
        MUST(cuStreamWaitEvent(two, theirs, 0)); MUST(cuMemsetD8Async(data, 2, SIZE, two)););
  // nor if this one does not wait for it.
  RACES(1, MUST(cuMemsetD8Async(data, 1, SIZE, one)); TURN("n");
        MUST(cuMemsetD8Async(data, 2, SIZE, two)););
  // Waits in this process are seen as ever.
  RACES(0, MUST(cuMemsetD8Async(data, 1, SIZE, one)); MUST(cuEventRecord(mine, one));
        MUST(cuStreamWaitEvent(two, mine, 0)); MUST(cuMemsetD8Async(data, 2, SIZE, two)););
  tell(other.talk, "e", 1);
  join_other(&other);
  return 0;
}
