// SPDX-License-Identifier: BSD-3-Clause
// Random programs of at most seven operations, against a model that knows nothing of clocks: it has
// the edges that the manual names, and tries every order that they allow. An operation is reported
// if and only if it conflicts with an earlier one that nothing orders; there is a race if and only
// if two orders let some operation see other writes; and whatever schedule runs a program, it
// leaves behind what one of the orders does.
#include <sys/wait.h>

#include "race_test.h"

enum { CELLS = 3, STREAMS = 3, EVENTS = 2, MOST = 7, MOST_RESULTS = 64, SEEDS = 50 };
enum { LEGACY_KIND, BLOCKING_KIND, PER_THREAD_KIND, NON_BLOCKING_KIND, KINDS };
enum { FILL, COPY, HOST_READ, HOST_WRITE, RECORD, WAIT, STREAM_SYNC, EVENT_SYNC };

typedef struct {
  int what, stream, event, from, to;
} Operation;

typedef struct {
  int kinds[STREAMS], count;
  Operation operations[MOST];
} Program;

// The result of a run: the cells, and what the host read.
typedef struct {
  unsigned char cells[CELLS], read[MOST];
} Result;

typedef struct {
  Program program;
  int races[MOST];  // whether this operation races with an earlier one
  int raced, traces, count;
  Result results[MOST_RESULTS];
} Case;

static uint64_t random_state;

static int below(int limit) {  // xorshift: the same programs everywhere
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (int)((random_state >> 11) % (uint64_t)limit);
}

static Program random_program(uint64_t seed) {
  random_state = (seed + 1) * 0x9E3779B97F4A7C15u;
  for (int i = 0; i < 8; ++i) below(2);
  Program p = {.count = 3 + below(MOST - 2)};
  for (int s = 0; s < STREAMS; ++s) p.kinds[s] = below(4) ? NON_BLOCKING_KIND : below(KINDS);
  int recorded = -1;
  for (int i = 0; i < p.count; ++i) {
    static const int likely[] = {FILL,   FILL,   COPY, COPY, HOST_READ,   HOST_WRITE,
                                 RECORD, RECORD, WAIT, WAIT, STREAM_SYNC, EVENT_SYNC};
    Operation *o = &p.operations[i];
    o->what = likely[below((int)(sizeof likely / sizeof *likely))];
    o->stream = below(STREAMS);
    o->event = below(EVENTS);
    o->to = below(CELLS);
    o->from = (o->to + 1 + below(CELLS - 1)) % CELLS;
    // Mostly records of what was just begun, and waits of others for it.
    if (o->what == RECORD && i > 0 && below(4)) o->stream = p.operations[i - 1].stream;
    if ((o->what == WAIT || o->what == EVENT_SYNC) && recorded >= 0 && below(4)) {
      o->event = p.operations[recorded].event;
      o->stream = (p.operations[recorded].stream + 1 + below(STREAMS - 1)) % STREAMS;
    }
    if (o->what == RECORD) recorded = i;
  }
  return p;
}

// ---- The model

static int reads(const Operation *o, int cell) {
  return (o->what == COPY && o->from == cell) || (o->what == HOST_READ && o->to == cell);
}

static int writes(const Operation *o, int cell) {
  return (o->what == FILL || o->what == COPY || o->what == HOST_WRITE) && o->to == cell;
}

static int conflict(const Operation *a, const Operation *b) {
  for (int cell = 0; cell < CELLS; ++cell)
    if ((writes(a, cell) && (writes(b, cell) || reads(b, cell))) ||
        (writes(b, cell) && reads(a, cell)))
      return 1;
  return 0;
}

// Two tokens for the calling thread's stream, or for the legacy one, are one stream.
static int same_stream(const Program *p, int a, int b) {
  return a == b || (p->kinds[a] == p->kinds[b] &&
                    (p->kinds[a] == LEGACY_KIND || p->kinds[a] == PER_THREAD_KIND));
}

static int barrier(const Program *p, int a, int b) {
  return p->kinds[a] != NON_BLOCKING_KIND && p->kinds[b] != NON_BLOCKING_KIND &&
         (p->kinds[a] == LEGACY_KIND) != (p->kinds[b] == LEGACY_KIND);
}

// edge[a][b]: a comes directly before b; then closed over all ways.
static void find_edges(const Program *p, int edge[MOST][MOST]) {
  int recorded[EVENTS] = {-1, -1}, skipped[MOST] = {0};
  memset(edge, 0, sizeof(int) * MOST * MOST);
  for (int i = 0; i < p->count; ++i) {
    const Operation *o = &p->operations[i];
    const int of_host = o->what == HOST_READ || o->what == HOST_WRITE || o->what >= STREAM_SYNC;
    // A wait for an event that was never recorded is nothing at all.
    skipped[i] = o->what == WAIT && recorded[o->event] < 0;
    if (skipped[i]) continue;
    for (int k = 0; k < i; ++k) {
      const Operation *before = &p->operations[k];
      if (skipped[k]) continue;
      if (before->what == HOST_READ || before->what == HOST_WRITE || before->what >= STREAM_SYNC)
        edge[k][i] = 1;
      else if (!of_host)
        edge[k][i] =
            same_stream(p, before->stream, o->stream) || barrier(p, before->stream, o->stream);
      else if (o->what == STREAM_SYNC)
        edge[k][i] = same_stream(p, before->stream, o->stream) ||
                     (p->kinds[o->stream] == LEGACY_KIND && barrier(p, before->stream, o->stream));
    }
    if ((o->what == WAIT || o->what == EVENT_SYNC) && recorded[o->event] >= 0)
      edge[recorded[o->event]][i] = 1;
    if (o->what == RECORD) recorded[o->event] = i;
  }
  for (int via = 0; via < p->count; ++via)
    for (int a = 0; a < p->count; ++a)
      for (int b = 0; b < p->count; ++b) edge[a][b] |= edge[a][via] && edge[via][b];
}

typedef struct {
  const Program *program;
  int edge[MOST][MOST];
  Case *out;
  uint64_t traces[2];  // the first two that differ
} Search;

// Who wrote each cell last: a copy may well write what was there.
typedef struct {
  unsigned char of[CELLS];
} Writers;

// Runs the rest in every order; `trace` holds whose bytes each operation so far has seen.
static void try_all(Search *search, unsigned done, Result state, Writers writers, uint64_t trace) {
  const Program *p = search->program;
  if (done + 1 == 1u << p->count) {
    Case *out = search->out;
    int known = 0;
    for (int k = 0; k < out->count && !known; ++k)
      known = memcmp(&out->results[k], &state, sizeof state) == 0;
    MUST_BE(known || out->count < MOST_RESULTS, 1);
    if (!known) out->results[out->count++] = state;
    if (out->traces == 0 || (out->traces == 1 && trace != search->traces[0]))
      search->traces[out->traces++] = trace;
    return;
  }
  for (int i = 0; i < p->count; ++i) {
    int ready = !(done >> i & 1);
    for (int k = 0; k < p->count && ready; ++k) ready = !search->edge[k][i] || (done >> k & 1);
    if (!ready) continue;
    const Operation *o = &p->operations[i];
    Result then = state;
    Writers last = writers;
    uint64_t seen = 0;
    if (o->what <= HOST_WRITE) seen = writers.of[o->to];
    if (o->what == COPY) seen = seen << 8 | writers.of[o->from];
    if (writes(o, o->to)) last.of[o->to] = (unsigned char)(i + 1);
    if (o->what == HOST_READ) then.read[i] = state.cells[o->to];
    if (o->what == FILL || o->what == HOST_WRITE) then.cells[o->to] = (unsigned char)(i + 1);
    if (o->what == COPY) then.cells[o->to] = state.cells[o->from];
    // Added up, so that it does not matter when an operation saw it.
    uint64_t mixed = (seen + 1) * 0x9E3779B97F4A7C15u + (uint64_t)i * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 29) * 0x94D049BB133111EBu;
    try_all(search, done | 1u << i, then, last, trace + (mixed ^ mixed >> 32));
  }
}

static unsigned char initial(int cell) { return (unsigned char)(0xE0 + cell); }

static void find_case(uint64_t seed, Case *out) {
  *out = (Case){.program = random_program(seed)};
  const Program *p = &out->program;
  Search search = {.program = p, .out = out};
  find_edges(p, search.edge);
  for (int b = 0; b < p->count; ++b)
    for (int a = 0; a < b; ++a)
      if (!search.edge[a][b] && conflict(&p->operations[a], &p->operations[b]))
        out->races[b] = out->raced = 1;
  Result state = {0};
  for (int cell = 0; cell < CELLS; ++cell) state.cells[cell] = initial(cell);
  try_all(&search, 0, state, (Writers){{0}}, 0);
  // The two ways to say what a race is are the same.
  MUST_BE(out->traces > 1, out->raced);
}

// ---- The driver

static unsigned char *cells;
static CUstream streams[STREAMS][KINDS];

static Result run(const Case *c, uint64_t seed) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuCtxSynchronize, 2000, void);
  const Program *p = &c->program;
  Result result = {0};
  CUevent events[EVENTS];
  for (int e = 0; e < EVENTS; ++e) MUST(cuEventCreate(&events[e], 2));
  for (int cell = 0; cell < CELLS; ++cell) cells[cell] = initial(cell);
  sim.reset();
  for (int i = 0; i < p->count; ++i) {
    const Operation *o = &p->operations[i];
    const CUstream stream = streams[o->stream][p->kinds[o->stream]];
    const CUdeviceptr to = (uintptr_t)&cells[o->to], from = (uintptr_t)&cells[o->from];
    const uint64_t before = sim.races();
    switch (o->what) {
      case FILL:
        MUST(cuMemsetD8Async(to, (unsigned char)(i + 1), 1, stream));
        break;
      case COPY:
        MUST(cuMemcpyDtoDAsync(to, from, 1, stream));
        break;
      case HOST_READ:
        MUST(sim.host_access(&cells[o->to], 1, 0));
        result.read[i] = cells[o->to];
        break;
      case HOST_WRITE:
        MUST(sim.host_access(&cells[o->to], 1, 1));
        cells[o->to] = (unsigned char)(i + 1);
        break;
      case RECORD:
        MUST(cuEventRecord(events[o->event], stream));
        break;
      case WAIT:
        MUST(cuStreamWaitEvent(stream, events[o->event], 0));
        break;
      case STREAM_SYNC:
        MUST(cuStreamSynchronize(stream));
        break;
      case EVENT_SYNC:
        MUST(cuEventSynchronize(events[o->event]));
        break;
    }
    if ((sim.races() > before) != c->races[i])
      fprintf(stderr, "program %llu, operation %d\n", (unsigned long long)seed, i);
    MUST_BE(sim.races() > before, c->races[i]);
  }
  MUST(cuCtxSynchronize());
  memcpy(result.cells, cells, CELLS);
  for (int e = 0; e < EVENTS; ++e) MUST(cuEventDestroy(events[e]));
  return result;
}

static void run_all(const char *schedule, const Case *cases, uint64_t first, uint64_t count) {
  setenv("SIMCUDA_SCHEDULE", schedule, 1);
  start_races();
  USE_STREAMS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  CUdeviceptr managed;
  MUST(cuMemAllocManaged(&managed, CELLS, 1));
  cells = (unsigned char *)(uintptr_t)managed;
  for (int s = 0; s < STREAMS; ++s) {
    streams[s][LEGACY_KIND] = LEGACY;
    streams[s][PER_THREAD_KIND] = PER_THREAD;
    MUST(cuStreamCreate(&streams[s][BLOCKING_KIND], 0));
    MUST(cuStreamCreate(&streams[s][NON_BLOCKING_KIND], NON_BLOCKING));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const Result got = run(&cases[i], first + i);
    int allowed = 0;
    for (int k = 0; k < cases[i].count && !allowed; ++k)
      allowed = memcmp(&cases[i].results[k], &got, sizeof got) == 0;
    if (!allowed)
      fprintf(stderr, "%s: program %llu left what no order leaves\n", schedule,
              (unsigned long long)(first + i));
    MUST_BE(allowed, 1);
  }
}

// The model is asked of the plain build; a sanitized one looks at the memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { USUAL = 100, LONG = 1000 };
#else
enum { USUAL = 500, LONG = 20000 };
#endif

int main(int argc, char **argv) {
  const char *longer = getenv("SIM_TEST_LONG");
  const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  const uint64_t count = argc > 1 ? 1 : longer && *longer == '1' ? LONG : USUAL;
  Case *cases = calloc(count, sizeof *cases);
  uint64_t raced = 0;
  for (uint64_t i = 0; i < count; ++i) {
    find_case(first + i, &cases[i]);
    raced += (uint64_t)cases[i].raced;
  }
  // One process for each schedule: it is a setting.
  for (int run_of = 0; run_of < SEEDS + 2; ++run_of) {
    char schedule[32];
    snprintf(schedule, sizeof schedule, "random:%d", run_of);
    const pid_t child = fork();
    if (child == 0) {
      run_all(run_of == SEEDS ? "lazy" : run_of > SEEDS ? "eager" : schedule, cases, first, count);
      _exit(0);
    }
    int status = 0;
    MUST_BE(waitpid(child, &status, 0), child);
    MUST_BE(status, 0);
  }
  printf("%llu programs, %llu of them race; %d schedules each\n", (unsigned long long)count,
         (unsigned long long)raced, SEEDS + 2);
  if (count > 1) MUST_BE(raced > count / 5 && raced < count * 4 / 5, 1);
  free(cases);
  return 0;
}
