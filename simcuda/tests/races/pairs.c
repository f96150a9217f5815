/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the pairs, and prints TAP: a point for each half. Lazily; SIM_TEST_LONG=1: under all
 * schedules, with 200 seeds. */
#include "pairs.h"

#include <sys/mman.h>
#include <sys/wait.h>

static Pair *pairs, **last = &pairs;

void add_pair(Pair *pair) {
  *last = pair;
  last = &pair->next;
}

#define DEFINE(name, version, ...) CUresult (*name)(__VA_ARGS__);
FUNCTIONS(DEFINE)
#undef DEFINE

static int32_t (*host_access)(const void *, uint64_t, int32_t);

CUcontext here, there;
CUstream one, two, three, far;
CUdeviceptr data, managed;
unsigned char pageable[BYTES], *locked;

CUdeviceptr fresh(void) {
  CUdeviceptr memory;
  MUST(cuMemAlloc(&memory, BYTES));
  return memory;
}

CUdeviceptr fresh_in(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  CUdeviceptr memory = fresh();
  MUST(cuCtxSetCurrent(here));
  return memory;
}

CUstream stream(unsigned flags) {
  CUstream made;
  MUST(cuStreamCreate(&made, flags));
  return made;
}

CUevent event(void) {
  CUevent made;
  MUST(cuEventCreate(&made, 2));
  return made;
}

CUevent mark(CUstream on) {
  MUST(cuCtxSetCurrent(on == far ? there : here));
  CUevent made = event();
  record(made, on);
  MUST(cuCtxSetCurrent(here));
  return made;
}

void fill(CUdeviceptr memory, CUstream on) { MUST(cuMemsetD8Async(memory, 1, BYTES, on)); }
void take(CUdeviceptr memory, CUstream on) { MUST(cuMemcpyDtoDAsync(fresh(), memory, BYTES, on)); }
void record(CUevent event, CUstream on) { MUST(cuEventRecord(event, on)); }
void await(CUstream waits, CUevent event) { MUST(cuStreamWaitEvent(waits, event, 0)); }
void after(CUstream later, CUstream earlier) { await(later, mark(earlier)); }
void finish(CUstream with) { MUST(cuStreamSynchronize(with)); }
void look(const void *memory) { MUST(host_access(memory, BYTES, 0)); }
void change(void *memory) { MUST(host_access(memory, BYTES, 1)); }

void capture(CUstream origin) { MUST(cuStreamBeginCapture(origin, 0)); }

CUgraphExec captured(CUstream origin) {
  CUgraph graph;
  CUgraphExec exec;
  MUST(cuStreamEndCapture(origin, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

void launch(CUgraphExec exec, CUstream on) { MUST(cuGraphLaunch(exec, on)); }

/* What came of a run, in memory that the child has in common. */
typedef struct Result {
  uint64_t races;
  int finished;
} Result;

static void run_child(const Pair *pair, bool ordered, Result *result) {
  open_driver();
#define FIND(name, version, ...) *(void **)&name = find(#name, version);
  FUNCTIONS(FIND)
#undef FIND
  FIND_SIM(simcuda_races);
  *(void **)&host_access = dlsym(library, "simcuda_host_access");
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&here, 0));
  MUST(cuDevicePrimaryCtxRetain(&there, 1));
  MUST(cuCtxSetCurrent(there));
  far = stream(NON_BLOCKING);
  MUST(cuCtxSetCurrent(here));
  one = stream(NON_BLOCKING);
  two = stream(NON_BLOCKING);
  three = stream(NON_BLOCKING);
  data = fresh();
  MUST(cuMemAllocManaged(&managed, BYTES, 1));
  MUST(cuMemHostAlloc((void **)&locked, BYTES, 0));
  pair->run(ordered);
  result->races = simcuda_races();
  result->finished = 1;
  exit(0);
}

/* What follows "simcuda:   " in the next line that names a call; NULL: none follows. Where the
 * call came from must be said below it, if anybody was to look. */
static const char *next_call(const char *report, bool with_sites) {
  const char *const line = "\nsimcuda:   ", *const place = "\nsimcuda:       called at ";
  const char *at = strstr(report, line);
  while (at && at[strlen(line)] == ' ') at = strstr(at + 1, line);
  if (!at) return NULL;
  at += strlen(line);
  const char *end = strchr(at, '\n');
  if (with_sites && !(end && strncmp(end, place, strlen(place)) == 0)) return NULL;
  return at;
}

static bool begins_with(const char *text, const char *call) {
  const size_t length = strlen(call);
  return strncmp(text, call, length) == 0 && text[length] == ' ';
}

/* Whether all that was reported is of these two calls. A report begins
 *
 *     simcuda: race: ...
 *     simcuda:   FIRST (operation 1) writes, on ...
 *     simcuda:       called at FILE:LINE in FUNCTION, from ...
 *     simcuda:       stream made at ...
 *     simcuda:   SECOND (operation 2) reads, on ...
 *     simcuda:       called at ...
 *
 * What a host function does is seen when it runs, and so may come second at any time. */
static bool names(const char *report, const char *first, const char *second, bool with_sites) {
  const char *const head = "simcuda: race: ";
  const char *at = strstr(report, head);
  if (!at) return false;
  for (; at; at = strstr(at, head)) {
    const char *one_call = next_call(at, with_sites);
    const char *other_call = one_call ? next_call(one_call, with_sites) : NULL;
    if (!other_call) return false;
    if (!(begins_with(one_call, first) && begins_with(other_call, second)) &&
        !(begins_with(one_call, second) && begins_with(other_call, first)))
      return false;
    at = other_call;
  }
  return true;
}

/* Says what is wrong; NULL: nothing. */
static const char *run(const Pair *pair, bool ordered, const char *schedule, Result *result,
                       char *report, size_t size) {
  int pipes[2];
  *result = (Result){0, 0};
  setenv("SIMCUDA_SCHEDULE", schedule, 1);
  const bool with_sites = strcmp(schedule, "lazy") == 0; /* to look takes longer than the pair */
  setenv("SIMCUDA_CALL_SITES", with_sites ? "1" : "0", 1);
  fflush(stdout);
  if (pipe(pipes) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDERR_FILENO);
    run_child(pair, ordered, result);
  }
  close(pipes[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(pipes[0], report + length, size - 1 - length)) > 0;)
    length += (size_t)got;
  report[length] = 0;
  close(pipes[0]);
  int status;
  if (waitpid(child, &status, 0) != child || status != 0 || !result->finished)
    return "it did not come to its end";
  if (ordered) return result->races ? "a race was found" : length ? "something was said" : NULL;
  if (!result->races) return "no race was found";
  return names(report, pair->first, pair->second, with_sites) ? NULL
                                                              : "the report names other calls";
}

static void comment(const char *text) {
  for (const char *end; *text; text = *end ? end + 1 : end) {
    end = text + strcspn(text, "\n");
    printf("# %.*s\n", (int)(end - text), text);
  }
}

int main(void) {
  const char *const long_run = getenv("SIM_TEST_LONG");
  const int more = long_run && *long_run == '1' ? 201 : 0; /* the eager one, and random ones */
  Result *const result =
      mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (result == MAP_FAILED) return 2;
  setenv("SIMCUDA_RACES", "log", 1);
  static char report[65536];
  int points = 0, failed = 0;
  for (const Pair *pair = pairs; pair; pair = pair->next) {
    for (int ordered = 0; ordered < 2; ++ordered) {
      char schedule[32] = "lazy";
      const char *wrong = run(pair, ordered, schedule, result, report, sizeof report);
      for (int seed = 0; !wrong && seed < more; ++seed) {
        snprintf(schedule, sizeof schedule, seed ? "random:%d" : "eager", seed);
        wrong = run(pair, ordered, schedule, result, report, sizeof report);
      }
      printf("%s %d - %s-%s\n", wrong ? "not ok" : "ok", ++points, pair->name,
             ordered ? "ordered" : "race");
      if (!wrong) continue;
      ++failed;
      printf("# under %s: %s\n", schedule, wrong);
      comment(report);
    }
  }
  printf("1..%d\n", points);
  return failed != 0;
}
