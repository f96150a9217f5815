// SPDX-License-Identifier: BSD-3-Clause
// Rule: Random programs of at most eight operations on three streams and two events: what they
// leave behind, and what the host saw meanwhile, is what some order could give that the manual
// allows.
// Source: cuda.h, cuEventRecord, cuStreamWaitEvent and the manual's page on streams
#include "driver_test.h"

enum { CELLS = 2, READS = 3, STREAMS = 3, EVENTS = 2, MOST = 8, MOST_RESULTS = 4096 };
enum { LEGACY_KIND, BLOCKING_KIND, PER_THREAD_KIND, NON_BLOCKING_KIND };
enum { FILL, COPY, READ, RECORD, WAIT, STREAM_SYNC, EVENT_SYNC, QUERY, OPERATIONS };
static const char *const names[] = {"fill", "copy",        "read",       "record",
                                    "wait", "stream sync", "event sync", "query"};

typedef struct {
  int what, stream, event, from, to, value, succeeded;
} Operation;

typedef struct {
  int kinds[STREAMS], count;
  Operation operations[MOST];
} Program;

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
  Program p = {.count = 4 + below(MOST - 3)};
  p.kinds[0] = LEGACY_KIND;
  for (int s = 1; s < STREAMS; ++s) p.kinds[s] = BLOCKING_KIND + below(3);
  int reads = 0, recorded = -1;
  for (int i = 0; i < p.count; ++i) {
    // Mostly work: the rest only orders it.
    static const int likely[] = {FILL, FILL, COPY, COPY, COPY, READ, RECORD, RECORD, WAIT, WAIT};
    const int known = (int)(sizeof likely / sizeof *likely);
    const int draw = below(known + 3);
    Operation *o = &p.operations[i];
    o->what = draw < known ? likely[draw] : STREAM_SYNC + draw - known;
    o->stream = below(STREAMS);
    o->event = below(EVENTS);
    o->from = below(CELLS);
    o->to = below(CELLS);
    o->value = i + 1;
    if (o->what == READ && reads == READS) o->what = FILL;
    // A copy of a cell to itself is no single step: what is written in between may be lost.
    if (o->what == COPY && o->from == o->to) o->to = (o->to + 1) % CELLS;
    // Mostly records of what was just begun, and waits of others for it.
    if (o->what == RECORD && i > 0 && below(4)) o->stream = p.operations[i - 1].stream;
    if (o->what == WAIT && recorded >= 0 && below(4)) {
      o->event = p.operations[recorded].event;
      o->stream = (p.operations[recorded].stream + 1 + below(STREAMS - 1)) % STREAMS;
    }
    if (o->what == RECORD) recorded = i;
    if (o->what == READ) o->to = CELLS + reads++;
  }
  return p;
}

// ---- The model. Sets of work are bits; a set holds with each operation all that comes before it.

typedef struct {
  int count;
  unsigned before[MOST];  // the work that comes before this work
  const Operation *work[MOST];
} Order;

// Order that the manual leaves open (whether records and waits on blocking streams are work that
// the legacy stream orders) does not count here.
static Order order_of(const Program *p) {
  Order order = {0};
  unsigned stream[STREAMS] = {0}, event[EVENTS] = {0}, host = 0;
  for (int i = 0; i < p->count; ++i) {
    const Operation *o = &p->operations[i];
    const int kind = p->kinds[o->stream];
    unsigned reached = stream[o->stream] | host;
    for (int s = 0; s < STREAMS; ++s) {
      const int pair = (kind == LEGACY_KIND && p->kinds[s] != NON_BLOCKING_KIND) ||
                       (kind != NON_BLOCKING_KIND && p->kinds[s] == LEGACY_KIND);
      // Two tokens for the calling thread's stream are one stream.
      const int same = kind == PER_THREAD_KIND && p->kinds[s] == PER_THREAD_KIND;
      if (same || (pair && (o->what <= READ || kind == LEGACY_KIND))) reached |= stream[s];
    }
    switch (o->what) {
      case FILL:
      case COPY:
      case READ:
        order.before[order.count] = reached;
        order.work[order.count] = o;
        stream[o->stream] = reached | 1u << order.count++;
        if (o->what == READ) host |= stream[o->stream];  // it has arrived when the call returns
        break;
      case RECORD:
        event[o->event] = reached;
        break;
      case WAIT:
        stream[o->stream] |= event[o->event];
        break;
      case STREAM_SYNC:
        host |= reached;
        break;
      case EVENT_SYNC:
        host |= event[o->event];
        break;
      case QUERY:
        if (o->succeeded) host |= reached;
        break;
    }
  }
  return order;
}

static uint64_t after(const Operation *o, uint64_t bytes) {
  const uint64_t value = o->what == FILL ? (uint64_t)o->value : bytes >> 8 * o->from & 0xFF;
  return (bytes & ~((uint64_t)0xFF << 8 * o->to)) | value << 8 * o->to;
}

// Whether some order of the work ends with these bytes, by trying all orders.
static int is_allowed(const Order *order, uint64_t wanted, int *results) {
  static uint64_t reached[1 << MOST][MOST_RESULTS];
  static int count[1 << MOST];
  const unsigned all = (1u << order->count) - 1;
  memset(count, 0, sizeof count);
  count[0] = 1;
  reached[0][0] = 0;
  for (unsigned done = 0; done < all; ++done)
    for (int next = 0; next < order->count; ++next) {
      if (done >> next & 1 || order->before[next] & ~done) continue;
      const unsigned then = done | 1u << next;
      for (int i = 0; i < count[done]; ++i) {
        const uint64_t bytes = after(order->work[next], reached[done][i]);
        int known = 0;
        for (int k = 0; k < count[then] && !known; ++k) known = reached[then][k] == bytes;
        MUST_BE(known || count[then] < MOST_RESULTS, 1);
        if (!known) reached[then][count[then]++] = bytes;
      }
    }
  *results = count[all];
  for (int i = 0; i < count[all]; ++i)
    if (reached[all][i] == wanted) return 1;
  return 0;
}

// ---- The driver
// ----------------------------------------------------------------------------------

static uint64_t run(Program *p, CUdeviceptr cells) {
  USE_MEMORY;
  USE_STREAMS;
  USE_EVENTS;
  USE(cuMemcpyDtoHAsync, 3020, void *, CUdeviceptr, size_t, CUstream);
  USE(cuCtxSynchronize, 2000, void);
  unsigned char bytes[CELLS + READS] = {0};
  CUstream streams[STREAMS];
  CUevent events[EVENTS];
  for (int s = 0; s < STREAMS; ++s) {
    streams[s] = p->kinds[s] == LEGACY_KIND ? LEGACY : PER_THREAD;
    if (p->kinds[s] == BLOCKING_KIND) MUST(cuStreamCreate(&streams[s], 0));
    if (p->kinds[s] == NON_BLOCKING_KIND) MUST(cuStreamCreate(&streams[s], NON_BLOCKING));
  }
  for (int e = 0; e < EVENTS; ++e) MUST(cuEventCreate(&events[e], 2));
  MUST(cuMemsetD8Async(cells, 0, CELLS, LEGACY));
  MUST(cuCtxSynchronize());

  for (int i = 0; i < p->count; ++i) {
    Operation *o = &p->operations[i];
    const CUstream stream = streams[o->stream];
    const CUdeviceptr to = cells + (unsigned)o->to, from = cells + (unsigned)o->from;
    CUresult result = SUCCESS;
    switch (o->what) {
      case FILL:
        MUST(cuMemsetD8Async(to, (unsigned char)o->value, 1, stream));
        break;
      case COPY:
        MUST(cuMemcpyDtoDAsync(to, from, 1, stream));
        break;
      case READ:
        MUST(cuMemcpyDtoHAsync(&bytes[o->to], from, 1, stream));
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
      case QUERY:
        result = cuStreamQuery(stream);
        MUST_BE(result == SUCCESS || result == NOT_READY, 1);
        o->succeeded = result == SUCCESS;
        break;
    }
  }

  for (int s = 0; s < STREAMS; ++s)
    if (streams[s] != LEGACY && streams[s] != PER_THREAD) MUST(cuStreamDestroy(streams[s]));
  for (int e = 0; e < EVENTS; ++e) MUST(cuEventDestroy(events[e]));
  MUST(cuCtxSynchronize());
  MUST(cuMemcpyDtoH(bytes, cells, CELLS));
  uint64_t all = 0;
  for (int i = 0; i < CELLS + READS; ++i) all |= (uint64_t)bytes[i] << 8 * i;
  return all;
}

static void print(const Program *p, uint64_t seed, uint64_t got) {
  fprintf(stderr, "program %llu leaves %#llx; streams", (unsigned long long)seed,
          (unsigned long long)got);
  static const char *const kinds[] = {"legacy", "blocking", "per-thread", "non-blocking"};
  for (int s = 0; s < STREAMS; ++s) fprintf(stderr, " %s", kinds[p->kinds[s]]);
  for (int i = 0; i < p->count; ++i) {
    const Operation *o = &p->operations[i];
    fprintf(stderr, "\n  %s: stream %d, event %d, from %d, to %d, value %d, %d", names[o->what],
            o->stream, o->event, o->from, o->to, o->value, o->succeeded);
  }
  fprintf(stderr, "\n");
}

// A sanitizer looks at the memory, and has seen enough after a twentieth.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { USUAL = 3000, LONG = 3000 };
#else
enum { USUAL = 3000, LONG = 50000 };
#endif

int main(int argc, char **argv) {
  const char *longer = getenv("SIM_TEST_LONG");
  const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  const uint64_t programs = argc > 1 ? 1 : longer && *longer == '1' ? LONG : USUAL;
  start();
  USE_MEMORY;
  CUdeviceptr cells;
  MUST(cuMemAlloc(&cells, CELLS));
  int open = 0, others = 0;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    Program p = random_program(seed);
    const uint64_t got = run(&p, cells);
    const Order order = order_of(&p);
    uint64_t as_submitted = 0;
    for (int i = 0; i < order.count; ++i) as_submitted = after(order.work[i], as_submitted);
    int results = 0;
    if (!is_allowed(&order, got, &results)) {
      print(&p, seed, got);
      return 1;
    }
    open += results > 1;
    others += got != as_submitted;
  }
  printf("%llu programs, %d of them with several results; %d did not end as they were submitted\n",
         (unsigned long long)programs, open, others);
  return 0;
}
