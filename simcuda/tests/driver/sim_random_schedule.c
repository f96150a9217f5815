// SPDX-License-Identifier: BSD-3-Clause
// A seed gives the same schedule again, and other seeds give others, in processes of their own and
// by simcuda_reseed(). No schedule breaks the order, or makes queries return NOT_READY forever.
#include <sys/wait.h>

#include "driver_test.h"

enum { SEEDS = 24, STREAMS = 4, CELLS = 8, ROUNDS = 3 };

typedef struct {
  unsigned char cells[CELLS], in_order, pending[ROUNDS];
} Outcome;

// On each cell every stream leaves its own number; on the last byte one stream does, in order.
static Outcome race(void) {
  USE_MEMORY;
  USE_STREAMS;
  USE(cuCtxSynchronize, 2000, void);
  USE_SIM(uint64_t, simcuda_pending, void);
  Outcome outcome;
  memset(&outcome, 0, sizeof outcome);
  CUstream streams[STREAMS];
  CUdeviceptr data;
  for (int s = 0; s < STREAMS; ++s) MUST(cuStreamCreate(&streams[s], NON_BLOCKING));
  MUST(cuMemAlloc(&data, CELLS + 1));
  for (int round = 0; round < ROUNDS; ++round) {
    for (unsigned c = 0; c < CELLS; ++c)
      for (int s = 0; s < STREAMS; ++s)
        MUST(cuMemsetD8Async(data + c, (unsigned char)s, 1, streams[s]));
    MUST(cuMemsetD8Async(data + CELLS, (unsigned char)round, 1, streams[0]));
    outcome.pending[round] = (unsigned char)simcuda_pending();
  }
  while (cuStreamQuery(streams[0]) == NOT_READY);
  MUST(cuCtxSynchronize());
  MUST(cuMemcpyDtoH(outcome.cells, data, CELLS));
  MUST(cuMemcpyDtoH(&outcome.in_order, data + CELLS, 1));
  return outcome;
}

static Outcome race_with(int seed) {
  int ends[2];
  MUST_BE(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char schedule[32];
    snprintf(schedule, sizeof schedule, "random:%d", seed);
    setenv("SIMCUDA_SCHEDULE", schedule, 1);
    start();
    const Outcome outcome = race();
    _exit(write(ends[1], &outcome, sizeof outcome) != sizeof outcome);
  }
  Outcome outcome;
  MUST_BE(read(ends[0], &outcome, sizeof outcome), sizeof outcome);
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  MUST_BE(waitpid(child, &status, 0), child);
  MUST_BE(status, 0);
  return outcome;
}

// By one process.
static Outcome race_by(int seed) {
  USE_SIM(void, simcuda_forget, void);
  USE_SIM(void, simcuda_reseed, uint64_t);
  simcuda_forget();
  simcuda_reseed((uint64_t)seed);
  return race();
}

static void play(Outcome (*race_of)(int seed)) {
  Outcome all[SEEDS];
  int distinct = 0, winners[STREAMS] = {0};
  for (int seed = 0; seed < SEEDS; ++seed) {
    all[seed] = race_of(seed);
    MUST_BE(all[seed].in_order, ROUNDS - 1);
    int known = 0;
    for (int other = 0; other < seed; ++other)
      known = known || memcmp(&all[other], &all[seed], sizeof *all) == 0;
    distinct += !known;
    for (int c = 0; c < CELLS; ++c) ++winners[all[seed].cells[c]];
  }
  for (int seed = 0; seed < SEEDS; ++seed) {
    const Outcome again = race_of(seed);
    MUST_BE(memcmp(&all[seed], &again, sizeof again), 0);
  }
  MUST_BE(distinct > SEEDS / 2, 1);
  for (int s = 0; s < STREAMS; ++s) MUST_BE(winners[s] > 0, 1);
}

int main(void) {
  setenv("SIMCUDA_RACES", "count", 1);
  play(race_with);
  setenv("SIMCUDA_SCHEDULE", "random:7", 1);
  start();
  play(race_by);
  return 0;
}
