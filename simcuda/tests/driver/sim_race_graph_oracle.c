// SPDX-License-Identifier: BSD-3-Clause
// Random programs that launch random graphs, against a model that knows nothing of clocks or lanes:
// each node is an atom, between the two that open and close its launch, and an edge is an entry of
// a matrix. A call is reported if and only if one of its atoms conflicts with an earlier one that
// nothing orders. A program without races leaves what it would leave step by step.
#include <sys/wait.h>

#include "race_test.h"

enum { CELLS = 4, STREAMS = 3, EVENTS = 2, GRAPHS = 2, NODES = 5, MOST = 7, ATOMS = 128 };
enum { FILL, COPY, RECORD, WAIT, CHILD, LAUNCH = CHILD, SYNC, NOTHING };
static const unsigned kinds[STREAMS] = {NON_BLOCKING, NON_BLOCKING, 0};  // and the legacy stream

typedef struct {
  int what, stream, event, from, to, graph, after;  // `after`: of a node; earlier ones, as bits
} Operation;

typedef struct {
  int nodes[GRAPHS], count;
  Operation graphs[GRAPHS][NODES], operations[MOST];
} Program;

static uint64_t random_state;

static int below(int limit) {  // xorshift: the same programs everywhere
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (int)((random_state >> 11) % (uint64_t)limit);
}

static Operation random_operation(void) {
  Operation o = {.stream = below(STREAMS + 1), .event = below(EVENTS), .graph = below(GRAPHS)};
  o.to = below(CELLS);
  o.from = (o.to + 1 + below(CELLS - 1)) % CELLS;
  return o;
}

static Program random_program(uint64_t seed) {
  random_state = (seed + 1) * 0x9E3779B97F4A7C15u;
  for (int i = 0; i < 8; ++i) below(2);
  Program p = {.count = 2 + below(MOST - 1)};
  for (int g = 0; g < GRAPHS; ++g) {
    int records = 0;
    p.nodes[g] = 1 + below(NODES);
    for (int n = 0; n < p.nodes[g]; ++n) {
      static const int likely[] = {FILL, COPY, COPY, RECORD, WAIT, CHILD};
      Operation *o = &p.graphs[g][n];
      *o = random_operation();
      // The first graph may be in the second, without events: which record is last is no matter.
      o->what = likely[below(g ? 6 : 3)];
      if (o->what == RECORD && records >> o->event & 1) o->what = FILL;
      if (o->what == RECORD) records |= 1 << o->event;
      o->graph = 0;
      for (int k = 0; k < n; ++k) o->after |= (below(3) > 0) << k;
    }
  }
  for (int i = 0; i < p.count; ++i) {
    static const int likely[] = {FILL, COPY, RECORD, WAIT, WAIT, LAUNCH, LAUNCH, LAUNCH, SYNC};
    p.operations[i] = random_operation();
    p.operations[i].what = likely[below(9)];
  }
  return p;
}

// ---- The model

typedef struct {
  int count, races[MOST], raced;
  Operation atoms[ATOMS];
  char edge[ATOMS][ATOMS];
  unsigned char cells[CELLS];
} Model;

static unsigned char value_of(const Operation *o) {
  return (unsigned char)(1 + o->from * 8 + o->to);
}

static int add_atom(Model *m, const Operation *o, int what) {
  MUST_BE(m->count < ATOMS, 1);
  m->atoms[m->count] = *o;
  m->atoms[m->count].what = what;
  if (what == FILL) m->cells[o->to] = value_of(o);
  if (what == COPY) m->cells[o->to] = m->cells[o->from];
  return m->count++;
}

// Whatever comes before `from` comes before `to`, which is new.
static void add_edge(Model *m, int from, int to) {
  m->edge[from][to] = 1;
  for (int k = 0; k < m->count; ++k) m->edge[k][to] |= m->edge[k][from];
}

// Adds a graph's atoms after `opening`; those of which `ends` is set come last.
static void add_graph(Model *m, const Program *p, int g, const char *opening, char *ends,
                      const int *recorded, int *records) {
  int atom_of[NODES];
  char before[NODES][ATOMS] = {{0}}, inner[ATOMS];
  memset(ends, 0, ATOMS);
  for (int n = 0; n < p->nodes[g]; ++n) {
    const Operation *o = &p->graphs[g][n];
    for (int k = 0; k < n; ++k)
      if (o->after >> k & 1) before[n][atom_of[k]] = 1;
    if (!o->after) memcpy(before[n], opening, ATOMS);
    if (o->what == CHILD) {
      add_graph(m, p, 0, before[n], inner, recorded, records);
      memcpy(before[n], inner, ATOMS);
    }
    const int atom = atom_of[n] = add_atom(m, o, o->what <= COPY ? o->what : NOTHING);
    for (int k = 0; k < atom; ++k)
      if (before[n][k]) add_edge(m, k, atom);
    if (o->what == WAIT && recorded[o->event] >= 0) add_edge(m, recorded[o->event], atom);
    if (o->what == RECORD) records[o->event] = atom;
    for (int k = 0; k < n; ++k)
      if (o->after >> k & 1) ends[atom_of[k]] = 0;
    ends[atom] = 1;
  }
}

// Whether the last work of a stream comes before this; the last stream is the legacy one.
static int orders(const Operation *o, int stream) {
  if (o->stream == STREAMS) return stream == STREAMS || kinds[stream] == 0;
  // A wait for a stream does not wait for what the stream's next work would come after.
  return stream == o->stream || (stream == STREAMS && kinds[o->stream] == 0 && o->what != SYNC);
}

static int touches(const Operation *o, int cell, int writing) {
  return o->what <= COPY && (o->to == cell || (!writing && o->what == COPY && o->from == cell));
}

static int conflict(const Operation *a, const Operation *b) {
  for (int cell = 0; cell < CELLS; ++cell)
    if ((touches(a, cell, 1) && touches(b, cell, 0)) ||
        (touches(b, cell, 1) && touches(a, cell, 0)))
      return 1;
  return 0;
}

static void find_model(const Program *p, Model *m) {
  int recorded[EVENTS] = {-1, -1}, last[GRAPHS] = {-1, -1}, host = -1;
  int tail[STREAMS + 1] = {-1, -1, -1, -1};
  memset(m, 0, sizeof *m);
  for (int i = 0; i < p->count; ++i) {
    const Operation *o = &p->operations[i];
    const int first = m->count;
    if (o->what == WAIT && recorded[o->event] < 0) continue;
    const int opening = add_atom(m, o, o->what <= COPY ? o->what : NOTHING);
    if (host >= 0) add_edge(m, host, opening);
    for (int s = 0; s <= STREAMS; ++s)
      if (tail[s] >= 0 && orders(o, s)) add_edge(m, tail[s], opening);
    if (o->what == WAIT) add_edge(m, recorded[o->event], opening);
    if (o->what == RECORD) recorded[o->event] = opening;
    if (o->what == SYNC) host = opening;
    if (o->what != SYNC) tail[o->stream] = opening;
    if (o->what == LAUNCH) {
      char from[ATOMS] = {0}, ends[ATOMS];
      int records[EVENTS] = {-1, -1};
      if (last[o->graph] >= 0) add_edge(m, last[o->graph], opening);
      from[opening] = 1;
      add_graph(m, p, o->graph, from, ends, recorded, records);
      for (int e = 0; e < EVENTS; ++e)
        if (records[e] >= 0) recorded[e] = records[e];
      const int closing = add_atom(m, o, NOTHING);
      for (int k = 0; k < closing; ++k)
        if (ends[k]) add_edge(m, k, closing);
      last[o->graph] = tail[o->stream] = closing;
    }
    for (int b = first; b < m->count; ++b)
      for (int a = 0; a < b; ++a)
        if (!m->edge[a][b] && conflict(&m->atoms[a], &m->atoms[b])) m->races[i] = m->raced = 1;
  }
}

// ---- The driver

static unsigned char *cells;
static CUstream streams[STREAMS + 1], capturing;
static CUfunction copy;

static uint32_t ranges_of_copy(const simcuda_launch *launch, simcuda_range *out, uint32_t room) {
  for (uint32_t i = 0; i < 2 && i < room; ++i)
    out[i] = (simcuda_range){*(const uint64_t *)launch->arguments[i], 1, i == 0, 0, NULL};
  return 2;
}

static int32_t run_copy(const simcuda_launch *launch, const simcuda_range *ranges, uint32_t count) {
  (void)launch, (void)count;
  memcpy(ranges[0].bytes, ranges[1].bytes, 1);
  return 0;
}

static void submit(const Operation *o, CUstream stream, const CUevent *events, unsigned external) {
  USE_MEMORY;
  USE_KERNELS;
  USE(cuStreamWaitEvent, 3020, CUstream, CUevent, unsigned);
  USE(cuEventRecordWithFlags, 11010, CUevent, CUstream, unsigned);
  CUdeviceptr to = (uintptr_t)&cells[o->to], from = (uintptr_t)&cells[o->from];
  void *arguments[] = {&to, &from};
  if (o->what == FILL) MUST(cuMemsetD8Async(to, value_of(o), 1, stream));
  if (o->what == COPY && o->event) MUST(cuMemcpyDtoDAsync(to, from, 1, stream));
  if (o->what == COPY && !o->event)
    MUST(cuLaunchKernel(copy, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
  if (o->what == RECORD) MUST(cuEventRecordWithFlags(events[o->event], stream, external));
  if (o->what == WAIT) MUST(cuStreamWaitEvent(stream, events[o->event], external));
}

static CUgraphExec capture(const Program *p, int g, const CUevent *events, CUgraphExec child) {
  USE_CAPTURE;
  USE_GRAPHS;
  enum { SET = 1 };
  USE(cuStreamUpdateCaptureDependencies, 11030, CUstream, CUgraphNode *, size_t, unsigned);
  USE(cuStreamGetCaptureInfo, 11030, CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **,
      size_t *);
  CUgraphNode nodes[NODES];
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  MUST(cuStreamBeginCapture(capturing, RELAXED));
  for (int n = 0; n < p->nodes[g]; ++n) {
    const Operation *o = &p->graphs[g][n];
    CUgraphNode before[NODES];
    const CUgraphNode *made = NULL;
    size_t count = 0;
    int status = NONE;
    uint64_t id;
    for (int k = 0; k < n; ++k)
      if (o->after >> k & 1) before[count++] = nodes[k];
    MUST(cuStreamUpdateCaptureDependencies(capturing, before, count, SET));
    if (o->what == CHILD)
      MUST(cuGraphLaunch(child, capturing));
    else
      submit(o, capturing, events, 1);
    MUST(cuStreamGetCaptureInfo(capturing, &status, &id, &graph, &made, &count));
    MUST_BE(count, 1);
    nodes[n] = made[0];
  }
  MUST(cuStreamUpdateCaptureDependencies(capturing, nodes, (size_t)p->nodes[g], SET));
  MUST(cuStreamEndCapture(capturing, &graph));
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));
  return exec;
}

static void run(const Program *p, const Model *m, uint64_t seed) {
  USE_EVENTS;
  USE_STREAMS;
  USE_GRAPHS;
  USE(cuCtxSynchronize, 2000, void);
  CUevent events[EVENTS];
  CUgraphExec execs[GRAPHS];
  for (int e = 0; e < EVENTS; ++e) MUST(cuEventCreate(&events[e], 2));
  for (int g = 0; g < GRAPHS; ++g) execs[g] = capture(p, g, events, execs[0]);
  memset(cells, 0, CELLS);
  sim.reset();
  for (int i = 0; i < p->count; ++i) {
    const Operation *o = &p->operations[i];
    const CUstream stream = streams[o->stream];
    const uint64_t before = sim.races();
    if (o->what == LAUNCH)
      MUST(cuGraphLaunch(execs[o->graph], stream));
    else if (o->what == SYNC)
      MUST(cuStreamSynchronize(stream));
    else
      submit(o, stream, events, 0);
    if ((sim.races() > before) != m->races[i])
      fprintf(stderr, "program %llu, operation %d\n", (unsigned long long)seed, i);
    MUST_BE(sim.races() > before, m->races[i]);
  }
  // Nothing waits for destroyed streams, but their work still runs.
  for (int g = 0; g < GRAPHS; ++g) MUST(cuGraphExecDestroy(execs[g]));
  for (int e = 0; e < EVENTS; ++e) MUST(cuEventDestroy(events[e]));
  MUST(cuCtxSynchronize());
  if (!m->raced && memcmp(cells, m->cells, CELLS) != 0)
    fprintf(stderr, "program %llu left something else\n", (unsigned long long)seed);
  if (!m->raced) MUST_BE(memcmp(cells, m->cells, CELLS), 0);
}

static void run_all(const char *schedule, uint64_t first, uint64_t count) {
  setenv("SIMCUDA_SCHEDULE", schedule, 1);
  start_races();
  USE_STREAMS;
  USE_KERNELS;
  USE(cuMemAllocManaged, 6000, CUdeviceptr *, size_t, unsigned);
  FIND_SIM(simcuda_kernel);
  const uint32_t sizes[] = {8, 8};
  CUmodule module;
  CUdeviceptr managed;
  MUST(simcuda_kernel("copy", sizes, 2, ranges_of_copy, run_copy));
  MUST(cuModuleLoadData(&module, "simcuda module\ncopy\n"));
  MUST(cuModuleGetFunction(&copy, module, "copy"));
  MUST(cuMemAllocManaged(&managed, CELLS, 1));
  cells = (unsigned char *)(uintptr_t)managed;
  for (int s = 0; s < STREAMS; ++s) MUST(cuStreamCreate(&streams[s], kinds[s]));
  streams[STREAMS] = LEGACY;
  MUST(cuStreamCreate(&capturing, NON_BLOCKING));
  uint64_t raced = 0;
  static Model model;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program p = random_program(seed);
    find_model(&p, &model);
    raced += (uint64_t)model.raced;
    run(&p, &model, seed);
  }
  if (count == 1) return;
  printf("%s: %llu programs, %llu race\n", schedule, (unsigned long long)count,
         (unsigned long long)raced);
  MUST_BE(raced > count / 10 && raced < count * 9 / 10, 1);
}

// The model is asked of the plain build; a sanitized one looks at the memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { USUAL = 100, LONG = 2500 };
#else
enum { USUAL = 500, LONG = 50000 };
#endif

int main(int argc, char **argv) {
  const char *longer = getenv("SIM_TEST_LONG");
  const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  const uint64_t count = argc > 1 ? 1 : longer && *longer == '1' ? LONG : USUAL;
  static const char *const schedules[] = {"lazy", "eager", "random:1", "random:2", "random:3"};
  // One process for each schedule: it is a setting.
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      run_all(schedules[i], first, count);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    MUST_BE(waitpid(child, &status, 0), child);
    MUST_BE(status, 0);
  }
  return 0;
}
