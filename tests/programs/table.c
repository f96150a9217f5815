// SPDX-License-Identifier: BSD-3-Clause
// What one use costs, for each row of the table in docs/reference/order.rst: event records and
// stream waits at its beginning, and at its end.
#include "../../examples/order/work.h"

static int count(const char *name) {
  uint64_t (*calls)(const char *) = NULL;
  *(void **)&calls = dlsym(library(), "simcuda_calls");
  return (int)calls(name);
}

static void row(const char *what, const cai_array *x, stream on) {
  cai_use use;
  int records[3], waits[3];
  for (int i = 0; i < 3; ++i) {
    if (i == 1) MUST(cai_use_begin(&use, &x, 1, on, NULL, NULL));
    if (i == 2) MUST(cai_use_end(&use, NULL));
    records[i] = count("cuEventRecord");
    waits[i] = count("cuStreamWaitEvent");
  }
  printf("%s: %d + %d, %d + %d\n", what, records[1] - records[0], waits[1] - waits[0],
         records[2] - records[1], waits[2] - waits[1]);
  cai_array_release(x);
}

static const cai_array *unstated(void) {
  cai_array *const x = (cai_array *)new_array(1);
  x->stream = 0;
  x->stream_kind = CAI_STREAM_UNSTATED;
  return x;
}

static const cai_array *event_on(stream p) {
  const cai_array *const x = new_array_of_none();
  cai_array *view = NULL;
  fill(x->data, 1, p);
  MUST(cai_array_publish_event(x, p, &view, NULL));
  cai_array_release(x);
  return view;
}

static const cai_array *reclaimed(stream p) {
  const cai_array *const x = new_array(p);
  x->owner->flags |= CAI_OWNER_RECLAIMS;
  return x;
}

static stream new_blocking_stream(void) {
  handle made = NULL;
  CU(cuStreamCreate, (handle *, unsigned), &made, 0);
  return (uintptr_t)made;
}

int main(void) {
  start();
  const stream p = new_stream(), c = new_stream(), blocking = new_blocking_stream();
  row("``None``", new_array_of_none(), c);
  row("not stated", unstated(), c);
  row("1", new_array(1), c);
  row("1, and you work on a blocking stream, or on 2", new_array(1), blocking);
  row("1, and you work on a blocking stream, or on 2", new_array(1), 2);
  row("a blocking stream or 2, and you work on 1", new_array(blocking), 1);
  row("a blocking stream or 2, and you work on 1", new_array(2), 1);
  row("2, of this thread", new_array(2), c);
  row("a stream", new_array(p), c);
  row("the stream that you work on", new_array(p), p);
  row("a stream, and the producer reclaims", reclaimed(p), c);
  row("an event", event_on(p), c);
  return 0;
}
