// SPDX-License-Identifier: BSD-3-Clause
// A thread works on its own stream 2, which means another one elsewhere: it gives an event.
// Event records: 2. Stream waits: 1. Waits of the host: 0.
#include <pthread.h>

#include "work.h"

static void *produce(void *out) {
  start();
  const cai_array *x = new_array_of_none();
  fill(x->data, 1, 2);
  MUST(cai_array_publish_event(x, 2, out, NULL));  // a view, which holds x
  cai_array_release(x);
  return NULL;
}

int main(void) {
  start();
  const stream c = new_stream();
  const memory y = new_memory();
  cai_array *view = NULL;
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, produce, &view));
  MUST(pthread_join(thread, NULL));
  const cai_array *x = view;

  cai_use use;
  MUST(cai_use_begin(&use, &x, 1, c, NULL, NULL));  // c waits for the event
  copy(y, x->data, c);
  MUST(cai_use_end(&use, NULL));  // no stream to hand it back to: the owner keeps it

  cai_array_release(x);
  done();
  MUST_BE(value_of(y), 1);
  return 0;
}
