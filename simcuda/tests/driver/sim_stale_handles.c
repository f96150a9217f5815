// SPDX-License-Identifier: BSD-3-Clause
// Handles of destroyed things are refused, and do not recur unless asked for. Using one is a
// finding: a real driver crashes.
#include "apart.h"

static void query_stale(int times) {
  start();
  USE_STREAMS;
  CUstream stream;
  MUST(cuStreamCreate(&stream, 0));
  MUST(cuStreamDestroy(stream));
  while (times--) MUST_BE(cuStreamQuery(stream), INVALID_HANDLE);
}

static void query_twice(void) { query_stale(2); }

static void query_another(void) {
  start();
  USE_STREAMS;
  USE_EVENTS;
  CUevent event;
  MUST(cuEventCreate(&event, 2));
  MUST_BE(cuStreamQuery((CUstream)event), INVALID_HANDLE);
}

static void query_silently(void) {
  query_stale(2);
  USE_SIM(uint64_t, simcuda_findings, void);
  MUST_BE(simcuda_findings(), 2);
}

static void query_unnoticed(void) {
  query_stale(1);
  USE_SIM(uint64_t, simcuda_findings, void);
  MUST_BE(simcuda_findings(), 0);
}

static size_t times_said(const char *part) {
  size_t times = 0;
  for (const char *at = said; (at = strstr(at, part)); ++at) ++times;
  return times;
}

// A place is told once; nothing is where findings are only counted, or none are made of it.
static void check_reports(void) {
  setenv("SIMCUDA_RACES", "log", 1);
  run_apart(query_twice);
  MUST_BE(times_said("cuStreamQuery is given stream 0x"), 1);
  must_say("which has been destroyed: a real driver may crash");
  MUST_BE(times_said("called at"), 1);
  run_apart(query_another);
  must_say("which is no stream: a real driver may crash");
  setenv("SIMCUDA_CALL_SITES", "0", 1);
  run_apart(query_twice);
  MUST_BE(times_said("cuStreamQuery is given stream 0x"), 1);
  MUST_BE(times_said("called at"), 0);
  setenv("SIMCUDA_RACES", "count", 1);
  run_apart(query_silently);
  MUST_BE(strlen(said), 0);
  setenv("SIMCUDA_RACES", "log", 1);
  setenv("SIMCUDA_STALE_HANDLES", "0", 1);
  run_apart(query_unnoticed);
  MUST_BE(strlen(said), 0);
  unsetenv("SIMCUDA_RACES");
  unsetenv("SIMCUDA_CALL_SITES");
  unsetenv("SIMCUDA_STALE_HANDLES");
}

int main(int argc, char **argv) {
  const int reuse = argc > 1 && strcmp(argv[1], "reuse") == 0;
  if (reuse)
    setenv("SIMCUDA_REUSE_HANDLES", "1", 1);
  else
    check_reports();
  start();
  USE_STREAMS;
  USE_EVENTS;
  USE(cuStreamGetId, 12000, CUstream, unsigned long long *);
  USE_SIM(uint64_t, simcuda_findings, void);
  CUstream first, second;
  CUevent event;
  unsigned long long one, two;
  MUST(cuEventCreate(&event, 2));
  MUST(cuStreamCreate(&first, 0));
  MUST(cuStreamGetId(first, &one));
  MUST(cuStreamDestroy(first));
  MUST_BE(simcuda_findings(), 0);
  MUST_BE(cuStreamQuery(first), INVALID_HANDLE);
  MUST_BE(cuStreamDestroy(first), INVALID_HANDLE);
  MUST_BE(cuEventRecord(event, first), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 3);
  // A value that never was a handle is not a stale handle.
  MUST_BE(cuStreamQuery((CUstream)4096), INVALID_HANDLE);
  MUST_BE(cuStreamQuery((CUstream)UINTPTR_MAX), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 3);
  // One of something else is.
  MUST_BE(cuStreamQuery((CUstream)event), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 4);
  MUST(cuStreamCreate(&second, 0));
  MUST(cuStreamGetId(second, &two));
  MUST_BE(first == second, reuse);
  MUST_BE(one != two, 1);  // ids never recur
  MUST(cuEventDestroy(event));
  MUST_BE(cuEventQuery(event), INVALID_HANDLE);
  MUST_BE(cuEventDestroy(event), INVALID_HANDLE);
  MUST_BE(simcuda_findings(), 6);
  // One that went with its context is destroyed, too.
  USE(cuCtxCreate, 3020, CUcontext *, unsigned, CUdevice);
  USE(cuCtxDestroy, 4000, CUcontext);
  CUcontext own;
  MUST(cuCtxCreate(&own, 0, 0));
  MUST(cuStreamCreate(&second, 0));
  MUST(cuCtxDestroy(own));
  MUST_BE(cuStreamQuery(second), CONTEXT_IS_DESTROYED);
  MUST_BE(cuStreamDestroy(second), CONTEXT_IS_DESTROYED);
  MUST_BE(simcuda_findings(), 8);
  return 0;
}
