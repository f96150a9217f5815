// SPDX-License-Identifier: BSD-3-Clause
// What it costs to look for races: the processor's time for an operation, submitted and run at
// once, with and without. Run with simcuda/sim.
#include <sys/wait.h>
#include <time.h>

#include "driver_test.h"

enum { REPEATS = 3, STREAMS = 8, CHUNK = 16 };
static CUstream streams[STREAMS];
static CUevent event;
static CUdeviceptr block;

// One stream writes the same memory again and again.
static void same_block(size_t n) {
  USE_MEMORY;
  for (size_t i = 0; i < n; ++i) MUST(cuMemsetD8Async(block, 1, CHUNK, streams[0]));
}

// Pieces of one block, each on its own and in no order; then all of it.
static void pieces(size_t n) {
  USE_MEMORY;
  // An odd factor visits each piece of a power of two once.
  size_t most = 1;
  while (most < n) most *= 2;
  for (size_t i = 0; i < n; ++i) {
    const CUdeviceptr piece = block + (i * 0x9E3779B1u + 7) % most * CHUNK;
    MUST(cuMemsetD8Async(piece, 1, CHUNK, streams[0]));
  }
  MUST(cuMemsetD8Async(block, 2, most * CHUNK, streams[0]));
}

// Streams in turn, each after the one before: three operations are counted as one.
static void handed_on(size_t n) {
  USE_MEMORY;
  USE_EVENTS;
  for (size_t i = 0; i < n; ++i) {
    MUST(cuMemsetD8Async(block, 1, CHUNK, streams[i % STREAMS]));
    MUST(cuEventRecord(event, streams[i % STREAMS]));
    MUST(cuStreamWaitEvent(streams[(i + 1) % STREAMS], event, 0));
  }
}

static const struct {
  const char *name;
  void (*run)(size_t n);
} loads[] = {{"same block", same_block}, {"pieces", pieces}, {"handed on", handed_on}};

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const char *mode, size_t load, size_t n, double *out) {
  setenv("SIMCUDA_RACES", mode, 1);
  setenv("SIMCUDA_BANNER", "0", 1);
  setenv("SIMCUDA_SCHEDULE", "eager", 1);
  start();
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSynchronize, 2000, void);
  for (int s = 0; s < STREAMS; ++s) MUST(cuStreamCreate(&streams[s], NON_BLOCKING));
  MUST(cuEventCreate(&event, 2));
  MUST(cuMemAlloc(&block, (size_t)CHUNK << 20));
  for (int r = 0; r < REPEATS; ++r) {
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    loads[load].run(n);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    MUST(cuCtxSynchronize());
    out[r] =
        ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)n;
  }
  qsort(out, REPEATS, sizeof *out, by_value);
}

// In a process of its own: the mode is a setting.
static void measure_apart(const char *mode, size_t load, size_t n, double *out) {
  int ends[2];
  MUST_BE(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    measure(mode, load, n, out);
    _exit(write(ends[1], out, REPEATS * sizeof *out) < 0);
  }
  MUST_BE(read(ends[0], out, REPEATS * sizeof *out), REPEATS * sizeof *out);
  close(ends[0]);
  close(ends[1]);
  int status;
  MUST_BE(waitpid(child, &status, 0), child);
  MUST_BE(status, 0);
}

int main(void) {
  printf("nanoseconds for each operation, least and median of %d\n", REPEATS);
  printf("%-12s %10s %17s %17s\n", "", "operations", "without", "with detection");
  for (size_t load = 0; load < sizeof loads / sizeof *loads; ++load)
    for (size_t n = 1000; n <= 1000000; n *= 10) {
      double without[REPEATS], with[REPEATS];
      measure_apart("off", load, n, without);
      measure_apart("log", load, n, with);
      printf("%-12s %10zu %8.0f %8.0f %8.0f %8.0f\n", loads[load].name, n, without[0],
             without[REPEATS / 2], with[0], with[REPEATS / 2]);
      fflush(stdout);
    }
  return 0;
}
